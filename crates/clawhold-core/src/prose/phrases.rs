//! Phrases that patterns share: whom and what a clause is about.

/// Each phrase by its name.
pub(super) const PHRASES: &[(&str, &str)] = &[
    // Whom.
    ("leaving", "leaving|departing|draining|outgoing|retiring"),
    (
        "the-worker",
        "[the|this|that] [<leaving>] worker [[named|called] {worker}|that is <leaving>]",
    ),
    ("worker", "it|<the-worker>"),
    ("its", "its|<the-worker> 's"),
    ("of-role", "(of|for|on) [the] role [[named|called] {role}]|(of|for|on) {role}|of this role"),
    ("lease", "(the|this|its) [current] lease [<of-role>]|the lease of the leader"),
    ("queue", "[the|this] queue [[named|called] {queue}]|the {queue} queue"),
    ("on-queue", "(on|for|in|to|into|from|of) <queue>"),
    ("its-queue", "(the|its|their) [own] (queue|queues)|the queue (it|they) came from"),
    ("job", "(the|this|that) [failed|dead] job [{job}]|job {job}"),
    ("standby", "[the|a] [warm|hot|ready] standby [that (has come|is) furthest [ahead]]"),
    ("old-leader", "(the|its) (previous|old|former|last|earlier) (leader|holder|leaseholder)"),
    ("leader", "[the] [current|active] (leader|holder|leaseholder)|[the] lease holder"),
    // What.
    ("every", "every|each|all|all of|each of|every one of"),
    ("jobs", "jobs|job"),
    (
        "held",
        "[<every>] <its> ([held|claimed] jobs|held work|held job)\
         |<every> [of] [the] held <jobs> [<held-by>]\
         |[the] held jobs [<held-by>]\
         |<every> [of] [the] <jobs> <it-holds>\
         |the jobs <it-holds>\
         |<every> <jobs> (held by|of|from) <worker>\
         |(everything|whatever|what|all) <worker> [still|currently] (holds|is holding)",
    ),
    ("held-by", "(held by|of|from|by) <worker>|<it-holds>"),
    ("it-holds", "[that] <worker> [still|currently] (holds|has|is holding|has claimed)"),
    ("new", "[any] (new|more|further|additional|fresh)|any"),
    ("new-work", "<new> (work|jobs|job)|work|jobs"),
    ("really-new", "[any|the] (new|fresh) (work|jobs)"),
    (
        "returned",
        "<every> [of] [the] (returned|handed-back) <jobs>\
         |[the] returned jobs\
         |<every> <jobs> [that (was|were)] (returned|handed back)\
         |<every> <jobs> (it|the [<leaving>] worker) (returned|handed back)\
         |the jobs (it|the [<leaving>] worker|that were) (returned|handed back)\
         |(what|everything|whatever) (was (returned|handed back)|came back|it (returned|handed back))\
         |them [all]|each one|every one|each of them|all of them",
    ),
    ("intake", "intake|intake of <new-work>|intake of work"),
    // How and why.
    ("within", "(within|in|for up to|inside) {span}|giving it {span} [to finish]"),
    ("at-once", "at once|immediately|right away|now|straight away"),
    ("recorded", "recorded|saved|stored|last recorded|last saved|confirmed|last confirmed"),
    (
        "token",
        "(with|under|using) a [new|fresh] [fencing] token (higher|greater|larger) than any\
         [[ever] (seen|granted|issued) [before|so far]|other|token [ever] seen]\
         |(with|under|using) a (higher|greater|larger) [fencing] token [than any [ever] seen [before]]\
         |(with|under|using) a [fencing] token above any [ever] seen [before]\
         |(with|under|using) a (new|fresh) [fencing] token\
         |(with|under|using) the (next|highest) [fencing] token",
    ),
    ("leaves", "stops|leaves|exits|shuts down|goes [away]|is stopped|is gone|quits|terminates"),
    (
        "nothing-lost",
        "[,] so [that] (nothing|no event) is (processed|handled|done|applied) twice\
         [[,] (or|and nothing is|and none is) (missed|lost|skipped)]\
         |[,] so [that] nothing is (missed|lost|skipped) [or (processed|handled|done) twice]\
         |without (skipping|losing|missing|repeating) [or (skipping|losing|repeating)] anything",
    ),
    (
        "so-placed",
        "[,] so [that] (they|it|each one|others|other workers|another worker)\
         can (be placed|be picked up|take them|take over|take it)\
         |[,] so [that] (no job|nothing|none) is (lost|dropped)\
         [[,] or (lost|dropped|processed twice|run twice)]",
    ),
    ("so-first", "[,] so [that] (they|returned jobs) (go|come|run) first"),
    // Words around clauses.
    (
        "lead",
        "(first|then|next|finally|now|please|lastly|afterwards|and|and then|after that|and finally\
         |only then|also|at last) [,]",
    ),
    ("join", ", and then|, then|, and|, and finally|,|and then|and finally|and|then|, next"),
    ("confirm", "(^confirm|^check|^verify|^validate|^ensure|^make sure|^make certain) [that]"),
    ("say", "(^show|^tell|^list|^print|^report|^give) [me|us]"),
];
