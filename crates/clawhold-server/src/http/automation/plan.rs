//! Plans: words and exact steps become typed operations, or a problem that says why not.

use clawhold_api::automation::plan as wire;
use clawhold_api::error::{Code, Problem};
use clawhold_core::condition::Condition;
use clawhold_core::limits;
use clawhold_core::operation::{Class, OnFail, Plan, PlannedStep, Reading};
use clawhold_core::prose::{self, SentenceReport};

use crate::http::convert;
use crate::http::error::Rejected;

/// What a plan is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'a> {
    /// The field with the words.
    pub(super) field: &'static str,
    /// The words; may be empty.
    pub(super) text: &'a str,
    /// The field with the exact steps.
    pub(super) exact_field: &'static str,
    /// The exact steps, which follow the words.
    pub(super) exact: &'a [String],
    /// What was accepted for sentences that are not understood: `2=1`, `2=job.return_held`.
    pub(super) accept: &'a [String],
    /// What happens when a step fails.
    pub(super) on_fail: Option<&'a str>,
}

impl Words<'_> {
    /// Returns the plan. What is not understood becomes a step that a person confirms.
    pub(super) fn compile(self) -> Result<Plan, Rejected> {
        let on_fail = on_fail("on_fail", self.on_fail)?;
        let mut plan = if self.text.trim().is_empty() {
            self.check_no_accept()?;
            Plan { table: prose::TABLE, steps: Vec::new() }
        } else {
            self.read()?
        };
        convert::count(self.exact_field, self.exact.len(), 0, limits::STEPS_MAX)?;
        for (at, text) in self.exact.iter().enumerate() {
            plan.steps.push(exact(&format!("{}[{at}]", self.exact_field), text)?);
        }
        for step in &mut plan.steps {
            if step.on_fail == OnFail::Stop {
                step.on_fail = on_fail;
            }
        }
        if plan.steps.is_empty() {
            let allowed = format!("sentences that say what is done, or `{}`", self.exact_field);
            return Err(Rejected::field(self.field, "nothing", &allowed));
        }
        if plan.steps.len() > limits::STEPS_MAX {
            let value = format!("{} steps", plan.steps.len());
            let allowed = format!("at most {} steps", limits::STEPS_MAX);
            return Err(Rejected::field(self.field, &value, &allowed));
        }
        prose::check_order(&plan).map_err(|trouble| bad_plan(self.field, &trouble))?;
        Ok(plan)
    }

    fn read(&self) -> Result<Plan, Rejected> {
        let mut compiled = prose::plan(self.text, &[]);
        if !self.accept.is_empty() {
            let accepted = self.accepted(&compiled.sentences)?;
            compiled = prose::plan(self.text, &accepted);
            if let Some((sentence, number)) = compiled.unused.first() {
                let detail = format!(
                    "nothing is to be accepted as {sentence}={number}: \
                     that sentence is understood, or has no such suggestion"
                );
                let field = Some("accept".to_owned());
                return Err(Problem { field, ..Problem::new(Code::BadPlan, detail) }.into());
            }
        }
        compiled.check_order().map_err(|trouble| bad_plan(self.field, &trouble))?;
        Ok(compiled.plan)
    }

    fn accepted(&self, sentences: &[SentenceReport]) -> Result<Vec<(usize, usize)>, Rejected> {
        let all = self.accept.iter().enumerate();
        all.map(|(at, text)| accepted(&format!("accept[{at}]"), text, sentences)).collect()
    }

    fn check_no_accept(&self) -> Result<(), Rejected> {
        match self.accept.first() {
            None => Ok(()),
            Some(text) => {
                let allowed = format!("nothing, since {} is empty", self.field);
                Err(Rejected::field("accept[0]", text, &allowed))
            }
        }
    }
}

/// Returns the number of a sentence and that of the suggestion that is taken for it.
fn accepted(
    field: &str,
    text: &str,
    sentences: &[SentenceReport],
) -> Result<(usize, usize), Rejected> {
    let bad = |allowed: &str| Rejected::field(field, text, allowed);
    let form = "SENTENCE=SUGGESTION, such as 2=1 or 2=job.return_held";
    let (sentence, choice) = text.split_once('=').ok_or_else(|| bad(form))?;
    let sentence: usize = sentence.trim().parse().map_err(|_| bad(form))?;
    let choice = choice.trim();
    if let Ok(number) = choice.parse() {
        return Ok((sentence, number));
    }
    let report = sentences.iter().find(|report| report.number == sentence);
    let trouble = report.and_then(|report| report.trouble.as_ref());
    let nearest = trouble.map(|trouble| trouble.nearest.as_slice()).unwrap_or_default();
    let found = nearest.iter().position(|near| operation_of(&near.exact) == choice);
    let known: Vec<&str> = nearest.iter().map(|near| operation_of(&near.exact)).collect();
    let allowed = match known.as_slice() {
        [] => format!("another sentence: nothing is near to sentence {sentence}"),
        known => format!("{sentence}= and one of {}", known.join(", ")),
    };
    found.map(|at| (sentence, at + 1)).ok_or_else(|| bad(&allowed))
}

/// Returns the name of the operation at the beginning of an exact form.
pub(super) fn operation_of(exact: &str) -> &str {
    exact.split_whitespace().next().unwrap_or("")
}

fn exact(field: &str, text: &str) -> Result<PlannedStep, Rejected> {
    let condition = |text: &str| Condition::parse(text).map_err(|trouble| trouble.to_string());
    prose::exact(text, condition).map_err(|trouble| {
        let detail = format!("{field} {text:?}: {trouble}");
        let lines = detail.lines().map(str::to_owned).collect();
        let field = Some(field.to_owned());
        Problem { field, lines, ..Problem::new(Code::BadPlan, detail) }.into()
    })
}

fn bad_plan(field: &str, trouble: &dyn std::error::Error) -> Rejected {
    let field = Some(field.to_owned());
    Problem { field, ..Problem::new(Code::BadPlan, trouble.to_string()) }.into()
}

fn on_fail(field: &str, text: Option<&str>) -> Result<OnFail, Rejected> {
    match super::value::given(text).unwrap_or("stop") {
        "stop" => Ok(OnFail::Stop),
        "continue" => Ok(OnFail::Continue),
        "ask" => Ok(OnFail::Ask),
        other => Err(Rejected::field(field, other, "stop, continue or ask")),
    }
}

/// What a plan was made of, as far as it is not kept as words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) exact: Vec<String>,
    pub(super) accept: Vec<String>,
    pub(super) on_fail: Option<String>,
}

/// Returns what a plan was made of. `text` is the words it was made of.
pub(super) fn made(plan: &Plan, text: &str) -> Made {
    let exact = plan.steps.iter().filter(|step| step.reading == Reading::Exact);
    let taken = plan.steps.iter().any(|step| step.reading == Reading::Accepted);
    let accept = if taken { accept_of(plan, text) } else { Vec::new() };
    // One word for all holds where each step has the same; exact steps say their own.
    let words = plan.steps.first().map(|step| step.on_fail);
    let same = words.filter(|first| plan.steps.iter().all(|step| step.on_fail == *first));
    let on_fail = same.filter(|on_fail| *on_fail != OnFail::Stop).map(on_fail_text);
    let exact = exact.map(|step| show_exact(step, on_fail.is_some())).collect();
    Made { exact, accept, on_fail: on_fail.map(str::to_owned) }
}

/// Returns an exact step; what happens when it fails is left out where one word says it for all.
fn show_exact(step: &PlannedStep, is_said: bool) -> String {
    let on_fail = if is_said { OnFail::Stop } else { step.on_fail };
    PlannedStep { on_fail, ..step.clone() }.to_string()
}

/// Returns which suggestions were accepted, by the names of their operations.
fn accept_of(plan: &Plan, text: &str) -> Vec<String> {
    let sentences = prose::plan(text, &[]).sentences;
    let numbered = sentences.iter().filter_map(|report| {
        let step = plan.steps.iter().find(|step| {
            step.reading == Reading::Accepted && step.sentence.as_str() == report.text
        })?;
        Some(format!("{}={}", report.number, step.operation.name()))
    });
    numbered.collect()
}

/// Returns a plan as it is shown.
pub(super) fn show(plan: &Plan) -> Vec<wire::PlanStep> {
    let steps = plan.steps.iter().zip(1..);
    steps.map(|(step, number)| show_step(step, number)).collect()
}

fn show_step(step: &PlannedStep, number: u32) -> wire::PlanStep {
    let nearest = if matches!(step.reading, Reading::NotUnderstood { .. }) {
        nearest(step.sentence.as_str())
    } else {
        Vec::new()
    };
    let said = step.reading != Reading::Exact;
    wire::PlanStep {
        number,
        operation: step.operation.name().to_owned(),
        arguments: arguments(&step.operation.to_string()),
        sentence: if said { step.sentence.as_str().to_owned() } else { String::new() },
        reading: reading(&step.reading),
        class: class(step.operation.class()),
        why: why(&step.reading),
        nearest,
        timeout_ms: step.timeout_ms,
        on_fail: show_on_fail(step.on_fail),
    }
}

/// Returns what follows the name in an exact form.
pub(super) fn arguments(exact: &str) -> String {
    exact.split_once(' ').map_or_else(String::new, |(_, rest)| rest.to_owned())
}

/// Returns the operations that come near to a sentence.
fn nearest(sentence: &str) -> Vec<wire::Nearest> {
    let compiled = prose::plan(sentence, &[]);
    let trouble = compiled.sentences.into_iter().find_map(|report| report.trouble);
    trouble.map(|trouble| show_nearest(&trouble)).unwrap_or_default()
}

/// Returns the suggestions for a text that is not understood.
pub(super) fn show_nearest(trouble: &prose::NotUnderstood) -> Vec<wire::Nearest> {
    let all = trouble.nearest.iter().zip(1..);
    let shown = all.map(|(near, number)| wire::Nearest {
        number,
        operation: near.exact.clone(),
        example: near.example.to_owned(),
    });
    shown.collect()
}

/// Returns how a sentence became a step.
pub(super) fn reading(reading: &Reading) -> wire::Reading {
    match reading {
        Reading::Understood => wire::Reading::Understood,
        Reading::Exact => wire::Reading::Exact,
        Reading::Accepted => wire::Reading::Accepted,
        Reading::Agent => wire::Reading::Agent,
        Reading::NotUnderstood { .. } => wire::Reading::NotUnderstood,
    }
}

fn why(reading: &Reading) -> String {
    match reading {
        Reading::NotUnderstood { why } => why.as_str().to_owned(),
        Reading::Understood | Reading::Exact | Reading::Accepted | Reading::Agent => String::new(),
    }
}

fn class(class: Class) -> wire::Class {
    match class {
        Class::Read => wire::Class::Read,
        Class::Safe => wire::Class::Safe,
        Class::Disruptive => wire::Class::Disruptive,
        Class::External => wire::Class::External,
    }
}

/// Returns what happens to a run when a step fails.
pub(super) fn show_on_fail(on_fail: OnFail) -> wire::OnFail {
    match on_fail {
        OnFail::Stop => wire::OnFail::Stop,
        OnFail::Continue => wire::OnFail::Continue,
        OnFail::Ask => wire::OnFail::Ask,
    }
}

fn on_fail_text(on_fail: OnFail) -> &'static str {
    show_on_fail(on_fail).as_str()
}

/// Returns the hash of a plan, as an approval is bound to it.
pub(super) fn hash(plan: &Plan) -> String {
    plan.hash().as_str().to_owned()
}

/// Returns a sentence for each step that a person or an agent does, because it was not understood.
pub(super) fn warnings(plan: &Plan) -> Vec<String> {
    let steps = plan.steps.iter().zip(1..);
    let odd = steps.filter_map(|(step, number): (_, u32)| match &step.reading {
        Reading::NotUnderstood { why } => Some(format!(
            "step {number} {:?} is not understood ({}): a person confirms it",
            step.sentence.as_str(),
            why.as_str()
        )),
        Reading::Understood | Reading::Exact | Reading::Accepted | Reading::Agent => None,
    });
    odd.collect()
}
