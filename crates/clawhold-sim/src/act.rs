//! What a script lets happen at one moment: a client asks for something, or something breaks.
//!
//! Each act is one line of text, so that a world can be printed, cut down by hand and replayed.

use std::fmt;
use std::str::FromStr;

/// One line of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Act {
    /// Milliseconds after the world began.
    pub(crate) at_ms: u64,
    pub(crate) deed: Deed,
}

/// A process: a client or a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Node {
    Client(usize),
    Server(usize),
}

/// A direction, seen from the process: a client talks to servers, a server to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    Out,
    In,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// A client asks for something; the salt decides the details.
    Ask { client: usize, ask: Ask, salt: u64 },
    /// The next message is lost.
    Lose { node: Node, way: Way },
    /// The next message is late.
    Late { node: Node, way: Way, ms: u64 },
    /// The next message arrives twice.
    Twice { node: Node, way: Way, ms: u64 },
    /// Every message is lost for a while.
    Cut { node: Node, way: Way, ms: u64 },
    /// Every message is held back for a while, and delivered then.
    Hold { node: Node, way: Way, ms: u64 },
    /// The process stands still and goes on.
    Freeze { node: Node, ms: u64 },
    /// The process dies and starts anew.
    Crash { node: Node, ms: u64 },
    /// All servers and the log lose their power; of an unsynced record some bytes are found.
    Power { kept_bytes: usize, ms: u64 },
    /// A server's wall clock jumps; it reads so much more, or less, than before.
    Clock { server: usize, ms: i64 },
    /// A server's next write takes long to become durable.
    Slow { server: usize, ms: u64 },
    /// A server's next write finds the disk full.
    Full { server: usize },
    /// A server's next write finds the log locked.
    Busy { server: usize },
    /// A server keeps a snapshot and trims the log, if it leads.
    Snapshot { server: usize },
    /// The newest snapshot rots: whoever starts next begins with the one before.
    Rot,
}

macro_rules! asks {
    ($($ask:ident $word:literal),* $(,)?) => {
        /// What a client asks for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Ask {
            $($ask),*
        }

        impl Ask {
            fn as_str(self) -> &'static str {
                match self {
                    $(Self::$ask => $word),*
                }
            }

            fn parse(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$ask),)*
                    _ => None,
                }
            }
        }
    };
}

asks! {
    Enqueue "enqueue",
    Claim "claim",
    Settle "settle",
    Progress "progress",
    Checkpoint "checkpoint",
    Acquire "acquire",
    Withdraw "withdraw",
    Commit "commit",
    LateCommit "late-commit",
    LateSettle "late-settle",
    Append "append",
    GiveUp "give-up",
    WishHandOver "ask-hand-over",
    MoveRole "move-role",
    Drain "drain",
    Resume "resume",
    Close "close",
    TakeBack "take-back",
    Cancel "cancel",
    Retry "retry",
    Pause "pause",
    Open "open",
    CloseGate "close-gate",
    SetFix "set-fix",
    Tick "tick",
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(client) => write!(f, "c{client}"),
            Self::Server(server) => write!(f, "s{server}"),
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Out => "out",
            Self::In => "in",
        })
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.at_ms, self.deed)
    }
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ask { client, ask, salt } => write!(f, "c{client} {} {salt}", ask.as_str()),
            Self::Lose { node, way } => write!(f, "{node} lose {way}"),
            Self::Late { node, way, ms } => write!(f, "{node} late {way} {ms}"),
            Self::Twice { node, way, ms } => write!(f, "{node} twice {way} {ms}"),
            Self::Cut { node, way, ms } => write!(f, "{node} cut {way} {ms}"),
            Self::Hold { node, way, ms } => write!(f, "{node} hold {way} {ms}"),
            Self::Freeze { node, ms } => write!(f, "{node} freeze {ms}"),
            Self::Crash { node, ms } => write!(f, "{node} crash {ms}"),
            Self::Power { kept_bytes, ms } => write!(f, "log power {kept_bytes} {ms}"),
            Self::Clock { server, ms } => write!(f, "s{server} clock {ms}"),
            Self::Slow { server, ms } => write!(f, "s{server} slow {ms}"),
            Self::Full { server } => write!(f, "s{server} full"),
            Self::Busy { server } => write!(f, "s{server} busy"),
            Self::Snapshot { server } => write!(f, "s{server} snapshot"),
            Self::Rot => f.write_str("log rot"),
        }
    }
}

impl FromStr for Act {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let bad =
            || format!("{line:?} is no act; write MILLISECONDS WHO WHAT, like \"90 c0 claim 7\"");
        let [at, who, what, rest @ ..] = &words[..] else { return Err(bad()) };
        let at_ms = at.parse().map_err(|_| bad())?;
        let deed = match who.split_at_checked(1) {
            Some(("l", _)) if *who == "log" => of_log(what, rest),
            Some(("c", number)) => of_client(number.parse().map_err(|_| bad())?, what, rest),
            Some(("s", number)) => of_server(number.parse().map_err(|_| bad())?, what, rest),
            Some(_) | None => None,
        };
        Ok(Self { at_ms, deed: deed.ok_or_else(bad)? })
    }
}

fn of_log(what: &str, rest: &[&str]) -> Option<Deed> {
    match (what, rest) {
        ("power", [kept_bytes, ms]) => {
            Some(Deed::Power { kept_bytes: kept_bytes.parse().ok()?, ms: ms.parse().ok()? })
        }
        ("rot", []) => Some(Deed::Rot),
        _ => None,
    }
}

fn of_client(client: usize, what: &str, rest: &[&str]) -> Option<Deed> {
    if let (Some(ask), [salt]) = (Ask::parse(what), rest) {
        return Some(Deed::Ask { client, ask, salt: salt.parse().ok()? });
    }
    of_node(Node::Client(client), what, rest)
}

fn of_server(server: usize, what: &str, rest: &[&str]) -> Option<Deed> {
    match (what, rest) {
        ("clock", [ms]) => Some(Deed::Clock { server, ms: ms.parse().ok()? }),
        ("slow", [ms]) => Some(Deed::Slow { server, ms: ms.parse().ok()? }),
        ("full", []) => Some(Deed::Full { server }),
        ("busy", []) => Some(Deed::Busy { server }),
        ("snapshot", []) => Some(Deed::Snapshot { server }),
        _ => of_node(Node::Server(server), what, rest),
    }
}

fn of_node(node: Node, what: &str, rest: &[&str]) -> Option<Deed> {
    match (what, rest) {
        ("freeze", [ms]) => Some(Deed::Freeze { node, ms: ms.parse().ok()? }),
        ("crash", [ms]) => Some(Deed::Crash { node, ms: ms.parse().ok()? }),
        ("lose", [way]) => Some(Deed::Lose { node, way: parse_way(way)? }),
        ("late", [way, ms]) => {
            Some(Deed::Late { node, way: parse_way(way)?, ms: ms.parse().ok()? })
        }
        ("twice", [way, ms]) => {
            Some(Deed::Twice { node, way: parse_way(way)?, ms: ms.parse().ok()? })
        }
        ("cut", [way, ms]) => Some(Deed::Cut { node, way: parse_way(way)?, ms: ms.parse().ok()? }),
        ("hold", [way, ms]) => {
            Some(Deed::Hold { node, way: parse_way(way)?, ms: ms.parse().ok()? })
        }
        _ => None,
    }
}

fn parse_way(word: &str) -> Option<Way> {
    match word {
        "out" => Some(Way::Out),
        "in" => Some(Way::In),
        _ => None,
    }
}
