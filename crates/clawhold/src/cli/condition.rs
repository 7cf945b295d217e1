//! Conditions: checked, explained, and the fields that they may read.

use clap::{Args, Subcommand};

use crate::api::automation::condition::{
    CheckCondition, ConditionFields, ExplainCondition, ExplainedCondition,
};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Reply, Style};
use crate::table::{Sheet, Table};

/// Conditions: what auto-fixes and alert rules wait for
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  clawhold condition check 'lease.expired == true'")]
pub(crate) struct Condition {
    #[command(subcommand)]
    word: Word,
}

#[derive(Debug, Subcommand)]
enum Word {
    /// Check a condition: what it reads, and where it is wrong
    #[command(
        after_help = "Example:\n  clawhold condition check 'worker.leaving = true and worker.held_jobs > 0'"
    )]
    Check(Text),
    /// List the fields that a condition may read
    #[command(after_help = "Example:\n  clawhold condition fields --search lease")]
    Fields(Search),
    /// Tell what a condition says of each target now, and why
    #[command(
        after_help = "Example:\n  clawhold condition explain 'worker.held_jobs > 0' --target w-3"
    )]
    Explain(Explain),
}

#[derive(Debug, Args)]
struct Text {
    /// The condition
    #[arg(allow_hyphen_values = true)]
    condition: String,
}

#[derive(Debug, Args)]
struct Search {
    /// Only those in whose name or meaning this occurs
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

#[derive(Debug, Args)]
struct Explain {
    /// The condition
    #[arg(allow_hyphen_values = true)]
    condition: String,
    /// The role, worker, queue or job; all of them when absent
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
}

impl Condition {
    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        let client = context.client().await?;
        match self.word {
            Word::Check(Text { condition }) => {
                let checked = client.check_condition(&CheckCondition { condition }).await?;
                let mut sheet = Sheet::default();
                sheet
                    .field("means", &checked.canonical)
                    .field("about", checked.target.as_deref().unwrap_or("the whole"))
                    .field("reads", checked.fields.join(", "));
                Ok(Reply::of(&checked).sheet(sheet))
            }
            Word::Fields(Search { search }) => {
                Ok(fields(client.condition_fields().await?, search.as_deref()))
            }
            Word::Explain(Explain { condition, target }) => {
                let explain = ExplainCondition { condition, target };
                Ok(explained(&client.explain_condition(&explain).await?))
            }
        }
    }
}

fn fields(mut fields: ConditionFields, search: Option<&str>) -> Reply {
    if let Some(search) = search {
        let wanted = search.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        fields.items.retain(|field| has(&field.name) || has(&field.about));
    }
    let mut table = Table::new(&["FIELD", "TYPE", "TELLS"]);
    for field in &fields.items {
        let kind = match field.values.is_empty() {
            true => field.kind.clone(),
            false => format!("{}: {}", field.kind, field.values.join(", ")),
        };
        table.row([field.name.clone(), kind, field.about.clone()]);
    }
    let reply = Reply::of(&fields);
    if fields.items.is_empty() { reply.line("there is no such field") } else { reply.table(table) }
}

fn explained(explained: &ExplainedCondition) -> Reply {
    let mut reply = Reply::of(explained).line(format!("means {}", explained.canonical));
    if explained.targets.is_empty() {
        return reply.line("there is nothing that it is about");
    }
    for target in &explained.targets {
        let name = target.target.as_ref();
        let name = name.map_or("the whole".to_owned(), |t| format!("{} {}", t.kind, t.name));
        let style = match target.verdict.as_str() {
            "true" => Style::Good,
            "false" => Style::Plain,
            _ => Style::Warn,
        };
        reply = reply.styled(style, format!("{name}: {}", target.verdict));
        for line in &target.lines {
            reply = reply.line(format!("  {line}"));
        }
    }
    let listed = explained.targets.len() as u64;
    if listed < explained.targets_count {
        reply = reply.line(format!("… and {} more", explained.targets_count - listed));
    }
    reply
}
