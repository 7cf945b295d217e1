//! Definitions as one file: written, and made so.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::api::automation::transfer::{Definitions, ExportQuery, Import as Request, Imported};
use crate::cli::definition::difference;
use crate::cli::lines;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Reply, Style};
use crate::text::quoted;

/// Write all definitions as one file, in an order that stays
///
/// Secrets that are kept in the log are left out; those that stand in a file or a variable are
/// named.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  clawhold export > automation.toml\n  clawhold export --kind auto-fix --as yaml"
)]
pub(crate) struct Export {
    /// Only this kind, such as `auto-fix`
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// How it is written
    #[arg(long = "as", value_name = "FORM", default_value = "toml")]
    form: Form,
}

/// Make definitions as a file says: all of it or nothing
///
/// What is not in the file stays, unless --prune is said.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  clawhold import -f automation.toml --dry-run\n  clawhold import -f automation.yaml --prune"
)]
pub(crate) struct Import {
    /// The file, TOML, YAML or JSON by its name; `-` is standard input
    #[arg(long, short, value_name = "FILE")]
    file: PathBuf,
    /// How it is written, where its name does not say so; TOML otherwise
    #[arg(long = "as", value_name = "FORM")]
    form: Option<Form>,
    /// Change nothing, only show the difference
    #[arg(long)]
    dry_run: bool,
    /// Remove what is not in the file
    #[arg(long)]
    prune: bool,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
    /// JSON.
    Json,
}

impl Form {
    /// Returns the form that a file's name stands for.
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "toml" => Some(Self::Toml),
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    /// Writes definitions.
    fn write(self, definitions: &Definitions) -> Result<String, Failure> {
        let cannot = |error: &dyn std::error::Error| {
            Failure::failed("the definitions cannot be written so").because(error)
        };
        match self {
            Self::Toml => toml::to_string_pretty(definitions).map_err(|error| cannot(&error)),
            Self::Yaml => serde_saphyr::to_string(definitions).map_err(|error| cannot(&error)),
            Self::Json => serde_json::to_string_pretty(definitions)
                .map(|text| format!("{text}\n"))
                .map_err(|error| cannot(&error)),
        }
    }

    /// Reads definitions.
    fn read(self, text: &str) -> Result<Definitions, String> {
        if text.trim().is_empty() {
            return Ok(Definitions::default());
        }
        match self {
            Self::Toml => toml::from_str(text).map_err(|error| error.to_string()),
            Self::Yaml => serde_saphyr::from_str(text).map_err(|error| error.to_string()),
            Self::Json => serde_json::from_str(text).map_err(|error| error.to_string()),
        }
    }
}

impl Export {
    /// Writes the definitions to standard output.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        let query = ExportQuery { kind: self.kind };
        let definitions = context.client().await?.export(&query).await?;
        Ok(Reply::of(&definitions).raw(self.form.write(&definitions)?))
    }
}

impl Import {
    /// Makes the definitions as the file says.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        let Self { file, form, dry_run, prune } = self;
        let name = lines::name(&file);
        let form = form.or_else(|| Form::of(&file)).unwrap_or(Form::Toml);
        let text = lines::aside(move || lines::read_whole(&file)).await??;
        let definitions = form.read(&text).map_err(|error| {
            Failure::usage(format!("{name}: {}", error.trim_end()))
                .next("see `clawhold export` for how a file looks, or say --as toml|yaml|json")
        })?;
        let request = Request { definitions, dry_run, prune };
        let imported = context.client().await?.import(&request).await;
        let imported = imported.map_err(|error| Failure::from(error).within(&name))?;
        Ok(reply(&imported))
    }
}

fn reply(imported: &Imported) -> Reply {
    let mut reply = Reply::of(imported);
    for item in &imported.items {
        let (style, sign) = match item.change.as_str() {
            "added" => (Style::Good, '+'),
            "removed" => (Style::Bad, '-'),
            _ => (Style::Warn, '~'),
        };
        reply = reply.styled(style, format!("{sign} {} {}", item.kind, quoted(&item.name)));
        for (style, line) in item.difference.iter().flat_map(difference) {
            reply = reply.styled(style, format!("    {line}"));
        }
        for warning in &item.warnings {
            reply = reply.styled(Style::Warn, format!("    warning: {warning}"));
        }
    }
    let Imported { added, changed, removed, unchanged, .. } = imported;
    let would = if imported.dry_run { "would be " } else { "" };
    reply.line(format!(
        "{added} {would}added, {changed} {would}changed, {removed} {would}removed, {unchanged} as \
         they were"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::automation::definition::{AutoFix, Channel, Runbook, Sink};
    use expect_test::expect;

    fn definitions() -> Definitions {
        Definitions {
            auto_fixes: vec![AutoFix {
                name: "Promote Standby".to_owned(),
                condition: "lease.expired == true".to_owned(),
                action: "Promote the warm standby.\nThen say \"done\".".to_owned(),
                max_runs: vec!["6 per day".to_owned(), "3/h".to_owned()],
                enabled: Some(false),
                ..AutoFix::default()
            }],
            runbooks: vec![Runbook {
                name: "yes".to_owned(),
                tags: vec!["1".to_owned(), "null".to_owned(), "- x: y".to_owned()],
                ..Runbook::default()
            }],
            channels: vec![Channel {
                name: "#ops-info".to_owned(),
                sink: Some(Sink::Slack { url: "file:/etc/clawhold/ops.url".to_owned() }),
                ..Channel::default()
            }],
            ..Definitions::default()
        }
    }

    #[test]
    fn what_is_written_reads_back_as_it_was_in_every_form() {
        for form in [Form::Toml, Form::Yaml, Form::Json] {
            let text = form.write(&definitions()).unwrap();
            assert_eq!(form.read(&text), Ok(definitions()), "{form:?}\n{text}");
        }
    }

    #[test]
    fn a_file_is_written_for_people() {
        expect![[r##"
            [[auto_fixes]]
            name = "Promote Standby"
            condition = "lease.expired == true"
            action = """
            Promote the warm standby.
            Then say "done"."""
            four_eyes = false
            observe = false
            max_runs = [
                "6 per day",
                "3/h",
            ]
            enabled = false

            [[runbooks]]
            name = "yes"
            tags = [
                "1",
                "null",
                "- x: y",
            ]

            [[channels]]
            name = "#ops-info"
            closed = false

            [channels.sink]
            kind = "slack"
            url = "file:/etc/clawhold/ops.url"
        "##]]
        .assert_eq(&Form::Toml.write(&definitions()).unwrap());
        expect![[r##"
            auto_fixes:
            - name: Promote Standby
              condition: lease.expired == true
              action: |-
                Promote the warm standby.
                Then say "done".
              four_eyes: false
              observe: false
              max_runs:
              - 6 per day
              - 3/h
              enabled: false
            runbooks:
            - name: "yes"
              tags:
              - "1"
              - "null"
              - "- x: y"
            channels:
            - name: "#ops-info"
              sink:
                kind: slack
                url: file:/etc/clawhold/ops.url
              closed: false
        "##]]
        .assert_eq(&Form::Yaml.write(&definitions()).unwrap());
    }

    #[test]
    fn a_word_that_is_not_known_is_refused_with_its_place() {
        let text = "[[auto_fixes]]\nname = \"x\"\ncondition = \"y\"\nmax_run = [\"6 per day\"]\n";
        let error = Form::Toml.read(text).unwrap_err();
        assert!(error.contains("max_run") && error.contains("line 4"), "{error}");
        let text = "auto_fixes:\n  - name: x\n    condition: y\n    max_run: [\"6 per day\"]\n";
        let error = Form::Yaml.read(text).unwrap_err();
        assert!(error.contains("max_run"), "{error}");
        assert!(Form::Yaml.read("autofixes: []").is_err());
        assert_eq!(Form::Yaml.read(" \n"), Ok(Definitions::default()));
    }
}
