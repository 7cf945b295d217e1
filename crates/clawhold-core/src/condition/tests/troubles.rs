//! What does not fit together, and spellings of other languages.

use expect_test::expect;

use super::check_troubles;

#[test]
fn sides_of_different_types_are_refused_with_what_fits() {
    check_troubles(
        &[
            "worker.held_jobs = \"3\"",
            "worker.held_jobs > \"many\"",
            "lease.expired = 1",
            "lease.expired = 'true'",
            "worker.name = 7",
            "worker.queues = 'mail'",
            "worker.held_jobs in [1, '2']",
        ],
        &expect![[r#"
            left side is a whole number, right side is text: they can never be equal (line 1, column 20)
              worker.held_jobs = "3"
                                 ^^^
              help: write 3 without quotes

            left side is a whole number, right side is text: they cannot be compared (line 1, column 20)
              worker.held_jobs > "many"
                                 ^^^^^^
              help: write a whole number

            left side is true or false, right side is a whole number: they can never be equal (line 1, column 17)
              lease.expired = 1
                              ^
              help: write true or false

            left side is true or false, right side is text: they can never be equal (line 1, column 17)
              lease.expired = 'true'
                              ^^^^^^
              help: write true without quotes

            left side is text, right side is a whole number: they can never be equal (line 1, column 15)
              worker.name = 7
                            ^
              help: write "7" with quotes

            left side is a list, right side is text: they can never be equal (line 1, column 17)
              worker.queues = 'mail'
                              ^^^^^^
              help: write `worker.queues contains "…"`

            left side is a whole number, this is text: they can never be equal (line 1, column 25)
              worker.held_jobs in [1, '2']
                                      ^^^
              help: write 2 without quotes

        "#]],
    );
}

#[test]
fn a_duration_is_not_a_number() {
    check_troubles(
        &[
            "queue.oldest_age > 30",
            "queue.oldest_age > '15m'",
            "queue.depth > 30s",
            "queue.depth + 1s > 0",
            "-queue.oldest_age > 1s",
            "queue.oldest_age > 5 minutes",
            "queue.oldest_age > 5x",
            "queue.oldest_age > 1.5h",
            "queue.oldest_age > 99999d",
        ],
        &expect![[r#"
            left side is a duration, right side is a whole number: they cannot be compared (line 1, column 20)
              queue.oldest_age > 30
                                 ^^
              help: write 30s or 30m

            left side is a duration, right side is text: they cannot be compared (line 1, column 20)
              queue.oldest_age > '15m'
                                 ^^^^^
              help: write 15m without quotes

            left side is a whole number, right side is a duration: they cannot be compared (line 1, column 15)
              queue.depth > 30s
                            ^^^
              help: write a number without a unit

            `+` does not take a whole number and a duration (line 1, column 1)
              queue.depth + 1s > 0
              ^^^^^^^^^^^^^^^^

            `-` needs a whole number, this is a duration (line 1, column 2)
              -queue.oldest_age > 1s
               ^^^^^^^^^^^^^^^^

            a duration is written in one word (line 1, column 20)
              queue.oldest_age > 5 minutes
                                 ^^^^^^^^^
              help: write 5m

            `5x` is neither a number nor a duration (line 1, column 20)
              queue.oldest_age > 5x
                                 ^^
              help: durations are written 500ms, 30s, 15m, 1h, 7d or 1h30m; text in quotes

            `1.5h` is not a whole number (line 1, column 20)
              queue.oldest_age > 1.5h
                                 ^^^^
              help: write it in a smaller unit: 90m for 1.5h

            `99999d` is too long, at most 3650d are allowed (line 1, column 20)
              queue.oldest_age > 99999d
                                 ^^^^^^

        "#]],
    );
}

#[test]
fn a_condition_is_true_or_false() {
    check_troubles(
        &[
            "worker.held_jobs",
            "worker.leaving and worker.slots",
            "worker.state = 'left' or 'lost'",
            "worker.state",
            "not queue.oldest_age",
            "1 < 2",
        ],
        &expect![[r#"
            `worker.held_jobs` is a whole number, a condition is true or false (line 1, column 1)
              worker.held_jobs
              ^^^^^^^^^^^^^^^^
              help: compare it with something, e.g. `worker.held_jobs > 0`

            `worker.slots` is a whole number, a condition is true or false (line 1, column 20)
              worker.leaving and worker.slots
                                 ^^^^^^^^^^^^
              help: compare it with something, e.g. `worker.slots > 0`

            this is text, a condition is true or false (line 1, column 26)
              worker.state = 'left' or 'lost'
                                       ^^^^^^
              help: to compare with one of several, write `x in ["a", "b"]`

            `worker.state` is text, a condition is true or false (line 1, column 1)
              worker.state
              ^^^^^^^^^^^^
              help: compare it with something, e.g. `worker.state = "active"`

            `queue.oldest_age` is a duration, a condition is true or false (line 1, column 5)
              not queue.oldest_age
                  ^^^^^^^^^^^^^^^^
              help: compare it with something, e.g. `queue.oldest_age > 30s`

            it reads no field (line 1, column 1)
              1 < 2
              ^^^^^
              help: a condition reads something, e.g. `worker.leaving`

        "#]],
    );
}

#[test]
fn what_has_no_order_is_not_ordered() {
    check_troubles(
        &[
            "lease.expired > false",
            "worker.name > 'a'",
            "lease.holder < null",
            "1 < worker.slots < 5",
            "worker.slots = 1 = true",
        ],
        &expect![[r#"
            true or false has no order (line 1, column 1)
              lease.expired > false
              ^^^^^^^^^^^^^^^^^^^^^
              help: compare it with = or !=

            text has no order (line 1, column 1)
              worker.name > 'a'
              ^^^^^^^^^^^^^^^^^
              help: compare it with = or !=

            null has no order (line 1, column 16)
              lease.holder < null
                             ^^^^
              help: write `is null` or `is not null`

            comparisons do not chain (line 1, column 18)
              1 < worker.slots < 5
                               ^
              help: write `a < b and b < c`, or use brackets

            comparisons do not chain (line 1, column 18)
              worker.slots = 1 = true
                               ^
              help: write `a < b and b < c`, or use brackets

        "#]],
    );
}

#[test]
fn lists_and_null_stand_only_where_they_mean_something() {
    check_troubles(
        &[
            "worker.state = ['left']",
            "worker.state in []",
            "worker.state in [left]",
            "worker.state in ['left' 'lost']",
            "'mail' in worker.name",
            "worker.held_jobs contains 'a'",
            "size(worker.slots) = 1",
            "null = null",
            "has(1)",
        ],
        &expect![[r#"
            a list stands only after `in` (line 1, column 16)
              worker.state = ['left']
                             ^^^^^^^^
              help: write `worker.state in ["a", "b"]`

            an empty list holds nothing (line 1, column 1)
              worker.state in []
              ^^^^^^^^^^^^^^^^^^
              help: say what is in it

            a list holds constants, `left` is none (line 1, column 18)
              worker.state in [left]
                               ^^^^
              help: put text in quotes: "left"

            expected a comma or `]`, found `'lost'` (line 1, column 25)
              worker.state in ['left' 'lost']
                                      ^^^^^^

            `in` needs a list on its right side (line 1, column 11)
              'mail' in worker.name
                        ^^^^^^^^^^^
              help: write `worker.name contains "…"`

            only text contains something, this is a whole number (line 1, column 1)
              worker.held_jobs contains 'a'
              ^^^^^^^^^^^^^^^^

            only text and lists have a size, this is a whole number (line 1, column 6)
              size(worker.slots) = 1
                   ^^^^^^^^^^^^

            null is only compared with a field (line 1, column 1)
              null = null
              ^^^^
              help: write e.g. `lease.holder is null`

            only a field can have no value (line 1, column 5)
              has(1)
                  ^
              help: write e.g. `has(lease.holder)` or `lease.holder is null`

        "#]],
    );
}

#[test]
fn a_sign_of_another_language_is_answered_with_ours() {
    check_troubles(
        &[
            "worker.held_jobs => 3",
            "worker.held_jobs =< 3",
            "worker.held_jobs === 3",
            "worker.leaving & lease.expired",
            "worker.leaving | lease.expired",
            "worker.leaving ? 1 : 2",
            "worker.leaving\u{200b}",
        ],
        &expect![[r#"
            `=>` is no operator (line 1, column 18)
              worker.held_jobs => 3
                               ^^
              help: write >= for at least

            `=<` is no operator (line 1, column 18)
              worker.held_jobs =< 3
                               ^^
              help: write <= for at most

            `===` is no operator (line 1, column 18)
              worker.held_jobs === 3
                               ^^^
              help: write == for equal

            `&` is no operator (line 1, column 16)
              worker.leaving & lease.expired
                             ^
              help: write and, or &&

            `|` is no operator (line 1, column 16)
              worker.leaving | lease.expired
                             ^
              help: write or, or ||

            `?` is no operator (line 1, column 16)
              worker.leaving ? 1 : 2
                             ^
              help: a condition has no choice; write it with and, or, not

            there is a hidden character, U+200B (line 1, column 15)
              worker.leaving�
                            ^
              help: put text in quotes: "…"

        "#]],
    );
}

#[test]
fn numbers_are_whole_and_fit() {
    check_troubles(
        &[
            "worker.slots > 1.5",
            "worker.slots > 99999999999999999999",
            "worker.slots > 9223372036854775808",
        ],
        &expect![[r#"
            `1.5` is not a whole number (line 1, column 16)
              worker.slots > 1.5
                             ^^^
              help: write it in a smaller unit: 90m for 1.5h

            99999999999999999999 is too large, at most 9223372036854775807 is allowed (line 1, column 16)
              worker.slots > 99999999999999999999
                             ^^^^^^^^^^^^^^^^^^^^

            9223372036854775808 is too large, at most 9223372036854775807 is allowed (line 1, column 16)
              worker.slots > 9223372036854775808
                             ^^^^^^^^^^^^^^^^^^^

        "#]],
    );
}

#[test]
fn a_text_is_closed_and_its_backslashes_mean_something() {
    check_troubles(
        &[
            "worker.name = 'abc",
            "worker.name = “abc\"",
            "worker.name = 'a\nb'",
            "worker.name = \"a\\qb\"",
        ],
        &expect![[r#"
            this quote is never closed (line 1, column 15)
              worker.name = 'abc
                            ^^^^
              help: end the text with '

            this quote is never closed (line 1, column 15)
              worker.name = “abc"
                            ^^^^^
              help: end the text with ”

            this quote is never closed (line 1, column 15)
              worker.name = 'a
                            ^^
              help: end the text with '

            `\q` means nothing in a text (line 1, column 17)
              worker.name = "a\qb"
                              ^^
              help: write \\ for a backslash

        "#]],
    );
}

#[test]
fn what_is_missing_or_too_much_is_named() {
    check_troubles(
        &[
            "",
            " \n ",
            "worker.slots > 1 worker.leaving",
            "worker.slots >",
            "(worker.slots > 1",
            "and worker.leaving",
            "worker.",
            "worker.leaving)",
        ],
        &expect![[r#"
            the condition is empty (line 1, column 1)
              help: write e.g. `worker.leaving and worker.held_jobs > 0`

            the condition is empty (line 2, column 2)
              help: write e.g. `worker.leaving and worker.held_jobs > 0`

            expected an operator such as and, or, =, >, found `worker` (line 1, column 18)
              worker.slots > 1 worker.leaving
                               ^^^^^^

            it ends too early, a field or a value is missing (line 1, column 15)
              worker.slots >
                            ^

            it ends too early, `)` is missing (line 1, column 18)
              (worker.slots > 1
                               ^

            expected a field or a value, found `and` (line 1, column 1)
              and worker.leaving
              ^^^

            it ends too early, a name after the dot is missing (line 1, column 8)
              worker.
                     ^

            expected an operator such as and, or, =, >, found `)` (line 1, column 15)
              worker.leaving)
                            ^

        "#]],
    );
}

#[test]
fn a_long_line_is_shown_around_the_place() {
    check_troubles(
        &[
            "worker.name in ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', 'cccccccccccccccccccccccccccccccc', 'ddddddddddddd'] and worker.nam = 'x' and worker.slots > 1000 and worker.free_slots > 20000",
            "worker.name in ['é–ü', 'ж'] and\n\tworker.nam = '\u{1b}[31m'",
        ],
        &expect![[r#"
            unknown field `worker.nam` (line 1, column 145)
              …', 'cccccccccccccccccccccccccccccccc', 'ddddddddddddd'] and worker.nam = 'x' and worker.slots > 1000 and worker.free_slo…
                                                                           ^^^^^^^^^^
              help: did you mean `worker.name`?

            unknown field `worker.nam` (line 2, column 2)
              	worker.nam = '�[31m'
              	^^^^^^^^^^
              help: did you mean `worker.name`?

        "#]],
    );
}
