//! What was measured: one line of JSON each, a table for people, and the target beside it.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// What was measured.
    pub name: String,
    /// The median of the rounds.
    pub value: f64,
    /// The smallest and the largest.
    pub range: [f64; 2],
    /// Its unit.
    pub unit: &'static str,
    /// What it should be, if something is asked of it.
    pub target: Option<Target>,
    /// Whether it is.
    pub met: Option<bool>,
}

/// What a figure should be.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
}

/// Everything that was measured.
#[derive(Debug)]
pub struct Report {
    out: File,
    figures: Vec<Figure>,
}

impl Report {
    /// Returns a report that writes its lines to `path`.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn new(path: &Path) -> io::Result<Self> {
        Ok(Self { out: File::create(path)?, figures: Vec::new() })
    }

    /// Adds a figure from the values of its rounds.
    ///
    /// # Errors
    /// When the line cannot be written.
    pub fn add(
        &mut self,
        name: &str,
        values: &[f64],
        unit: &'static str,
        target: Option<Target>,
    ) -> io::Result<()> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let value = sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN);
        let range = [
            sorted.first().copied().unwrap_or(f64::NAN),
            sorted.last().copied().unwrap_or(f64::NAN),
        ];
        let met = target.map(|target| match target {
            Target::AtLeast(least) => value >= least,
            Target::AtMost(most) => value <= most,
        });
        let figure = Figure { name: name.to_owned(), value, range, unit, target, met };
        writeln!(self.out, "{}", serde_json::to_string(&figure)?)?;
        println!("{}", line(&figure));
        self.figures.push(figure);
        Ok(())
    }

    /// Returns how many figures miss their target.
    #[must_use]
    pub fn missed(&self) -> usize {
        self.figures.iter().filter(|figure| figure.met == Some(false)).count()
    }
}

fn line(figure: &Figure) -> String {
    let target = match figure.target {
        Some(Target::AtLeast(least)) => format!(">= {}", short(least)),
        Some(Target::AtMost(most)) => format!("<= {}", short(most)),
        None => String::new(),
    };
    let met = match figure.met {
        Some(true) => "met",
        Some(false) => "MISSED",
        None => "",
    };
    let [low, high] = figure.range;
    let range =
        if low == high { String::new() } else { format!("({}-{})", short(low), short(high)) };
    format!(
        "{:<58} {:>9} {:<10} {:<19} {:>11} {met}",
        figure.name,
        short(figure.value),
        figure.unit,
        range,
        target
    )
}

fn short(value: f64) -> String {
    let digits = if value.abs() >= 100.0 {
        0
    } else if value.abs() >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$}")
}
