//! Names, values and words that are not known, and what is meant.

use expect_test::expect;

use super::check_troubles;
use crate::condition::Condition;

#[test]
fn a_field_that_is_not_known_is_shown_where_it_stands() {
    check_troubles(
        &[
            "worker.leaving = true\n  and worker.hold_jobs > 0",
            "worker.heldJobs > 0",
            "workr.leaving",
            "worker.colour = 'red'",
            "agent.name = 'x'",
            "role.lapsed = true",
            "queue.size > 3",
            "lease.holder.name = 'x'",
        ],
        &expect![[r#"
            unknown field `worker.hold_jobs` (line 2, column 7)
                and worker.hold_jobs > 0
                    ^^^^^^^^^^^^^^^^
              help: did you mean `worker.held_jobs`?

            unknown field `worker.heldJobs` (line 1, column 1)
              worker.heldJobs > 0
              ^^^^^^^^^^^^^^^
              help: did you mean `worker.held_jobs`?

            unknown field `workr.leaving` (line 1, column 1)
              workr.leaving
              ^^^^^^^^^^^^^
              help: did you mean `worker.leaving`?

            unknown field `worker.colour` (line 1, column 1)
              worker.colour = 'red'
              ^^^^^^^^^^^^^
              help: worker has name, id, agent, place, state, leaving, held_jobs, slots, free_slots, queues, age, drain_left

            unknown field `agent.name` (line 1, column 1)
              agent.name = 'x'
              ^^^^^^^^^^
              help: a condition reads lease, standby, worker, queue or job

            unknown field `role.lapsed` (line 1, column 1)
              role.lapsed = true
              ^^^^^^^^^^^
              help: did you mean `lease.expired`?

            unknown field `queue.size` (line 1, column 1)
              queue.size > 3
              ^^^^^^^^^^
              help: did you mean `queue.depth`?

            unknown field `lease.holder.name` (line 1, column 1)
              lease.holder.name = 'x'
              ^^^^^^^^^^^^^^^^^
              help: lease has role, held, expired, vacant, holder, token, ttl, age, vacant_for, standbys, hand_over_asked

        "#]],
    );
}

#[test]
fn a_name_with_a_hyphen_is_not_taken_for_a_subtraction() {
    check_troubles(
        &[
            "worker.held-jobs > 0",
            "worker.hold-jobs > 0",
            "worker.held_jobs-worker.slots > 0 and worker.free-slots > 1",
            "lease.hand-over-asked",
        ],
        &expect![[r#"
            `worker.held-jobs` is read as a subtraction (line 1, column 1)
              worker.held-jobs > 0
              ^^^^^^^^^^^^^^^^
              help: did you mean `worker.held_jobs`?

            `worker.hold-jobs` is read as a subtraction (line 1, column 1)
              worker.hold-jobs > 0
              ^^^^^^^^^^^^^^^^
              help: did you mean `worker.held_jobs`?

            `worker.free-slots` is read as a subtraction (line 1, column 39)
              worker.held_jobs-worker.slots > 0 and worker.free-slots > 1
                                                    ^^^^^^^^^^^^^^^^^
              help: did you mean `worker.free_slots`?

            `lease.hand-over-asked` is read as a subtraction (line 1, column 1)
              lease.hand-over-asked
              ^^^^^^^^^^^^^^^^^^^^^
              help: did you mean `lease.hand_over_asked`?

        "#]],
    );
}

#[test]
fn a_bare_word_is_put_in_quotes_or_is_a_field() {
    check_troubles(
        &[
            "expired = true",
            "worker.state = gone",
            "worker.state = drained",
            "worker.name = gpu-1",
            "worker.queues contains mail",
            "worker.leaving = yes",
            "queue.depth > queue.workers and nothing",
        ],
        &expect![[r#"
            unknown word `expired` (line 1, column 1)
              expired = true
              ^^^^^^^
              help: did you mean `lease.expired`?

            unknown word `gone` (line 1, column 16)
              worker.state = gone
                             ^^^^
              help: it is one of "active", "draining", "drained", "left", "lost"

            unknown word `drained` (line 1, column 16)
              worker.state = drained
                             ^^^^^^^
              help: put text in quotes: "drained"

            unknown word `gpu-1` (line 1, column 15)
              worker.name = gpu-1
                            ^^^^^
              help: put text in quotes: "gpu-1"

            unknown word `mail` (line 1, column 24)
              worker.queues contains mail
                                     ^^^^
              help: put text in quotes: "mail"

            unknown word `yes` (line 1, column 18)
              worker.leaving = yes
                               ^^^
              help: write true or false

            unknown word `nothing` (line 1, column 33)
              queue.depth > queue.workers and nothing
                                              ^^^^^^^
              help: put text in quotes: "nothing"; fields are written like `worker.leaving`

        "#]],
    );
}

#[test]
fn a_value_that_a_field_never_has_is_refused() {
    check_troubles(
        &["worker.state = 'drainng'", "worker.state in ['left', 'lostt']", "job.state != 'done'"],
        &expect![[r#"
            worker.state is never "drainng" (line 1, column 16)
              worker.state = 'drainng'
                             ^^^^^^^^^
              help: did you mean "draining"?

            worker.state is never "lostt" (line 1, column 26)
              worker.state in ['left', 'lostt']
                                       ^^^^^^^
              help: did you mean "lost"?

            job.state is never "done" (line 1, column 14)
              job.state != 'done'
                           ^^^^^^
              help: it is one of "scheduled", "queued", "returned", "running", "completed", "failed", "cancelled"

        "#]],
    );
}

#[test]
fn a_function_that_is_not_known_is_refused() {
    check_troubles(
        &[
            "matches(worker.name, 'a')",
            "worker.name.containz('a')",
            "age(lease) > 5m",
            "worker.name.startsWith()",
            "contains(worker.name, 'a')",
            "worker.queues.map(x, x)",
        ],
        &expect![[r#"
            unknown function `matches` (line 1, column 1)
              matches(worker.name, 'a')
              ^^^^^^^
              help: there are contains, startsWith, endsWith, size, has, duration

            unknown function `containz` (line 1, column 13)
              worker.name.containz('a')
                          ^^^^^^^^
              help: did you mean `contains`?

            age is a field, not a function (line 1, column 1)
              age(lease) > 5m
              ^^^
              help: write `lease.age`, `worker.age` or `job.age`

            `startsWith` takes 1 in its brackets, here are 0 (line 1, column 1)
              worker.name.startsWith()
              ^^^^^^^^^^^^^^^^^^^^^^^^

            `contains` is asked of a text (line 1, column 1)
              contains(worker.name, 'a')
              ^^^^^^^^^^^^^^^^^^^^^^^^^^
              help: write `worker.name.contains("…")`

            unknown function `map` (line 1, column 15)
              worker.queues.map(x, x)
                            ^^^
              help: there are contains, startsWith, endsWith, size, has, duration

        "#]],
    );
}

#[test]
fn only_what_is_related_goes_into_one_condition() {
    for text in [
        "lease.vacant and standby.ready = 0",
        "job.losses > 1 and queue.paused",
        "worker.leaving and job.attempts > 2",
        "queue.paused and worker.leaving and job.id > 0",
    ] {
        assert!(Condition::parse(text).is_ok(), "{text}");
    }
    check_troubles(
        &["queue.depth > 3 and worker.leaving", "lease.vacant and\n\tjob.attempts > 3"],
        &expect![[r#"
            it mixes queue and worker, which are not related (line 1, column 21)
              queue.depth > 3 and worker.leaving
                                  ^^^^^^^^^^^^^^
              help: one condition may read lease with standby, job with queue (the job's), or job with worker (its holder)

            it mixes job and lease, which are not related (line 2, column 2)
              	job.attempts > 3
              	^^^^^^^^^^^^
              help: one condition may read lease with standby, job with queue (the job's), or job with worker (its holder)

        "#]],
    );
}
