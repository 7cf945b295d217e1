//! Curves as an SVG file: one panel each, the x axis in powers.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// One panel: a title, the name of each axis, and its curves.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What it shows.
    pub title: &'static str,
    /// What the x axis counts.
    pub x: &'static str,
    /// What the y axis counts.
    pub y: &'static str,
    /// Each curve with its name: points by x.
    pub curves: Vec<(&'static str, Vec<(f64, f64)>)>,
}

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 70.0;
const BOTTOM: f64 = 50.0;
const TOP: f64 = 40.0;
const COLOURS: [&str; 4] = ["#1b6ca8", "#c2571a", "#3a7d44", "#7a3e9d"];

/// Writes the panels, two in a row.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, panels: &[Panel]) -> io::Result<()> {
    let rows = panels.len().div_ceil(2);
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" font-family="sans-serif" font-size="11">"#,
        WIDTH * 2.0,
        HEIGHT * rows as f64
    );
    svg.push_str(r#"<rect width="100%" height="100%" fill="white"/>"#);
    for (at, panel) in panels.iter().enumerate() {
        let (x, y) = ((at % 2) as f64 * WIDTH, (at / 2) as f64 * HEIGHT);
        let _ = write!(svg, r#"<g transform="translate({x},{y})">"#);
        draw(&mut svg, panel);
        svg.push_str("</g>");
    }
    svg.push_str("</svg>\n");
    std::fs::write(path, svg)
}

fn draw(svg: &mut String, panel: &Panel) {
    let points = || panel.curves.iter().flat_map(|(_, points)| points);
    let x_min = points().map(|p| p.0).fold(f64::MAX, f64::min).max(1.0);
    let x_max = points().map(|p| p.0).fold(x_min * 2.0, f64::max);
    let y_max = points().map(|p| p.1).fold(0.0, f64::max).max(f64::MIN_POSITIVE) * 1.1;
    let across = |x: f64| {
        let share = (x.max(1.0) / x_min).ln() / (x_max / x_min).ln();
        LEFT + share * (WIDTH - LEFT - 30.0)
    };
    let up = |y: f64| HEIGHT - BOTTOM - y / y_max * (HEIGHT - BOTTOM - TOP);
    let (right, floor) = (WIDTH - 30.0, HEIGHT - BOTTOM);
    let _ = write!(
        svg,
        r#"<text x="{LEFT}" y="18" font-weight="bold">{}</text><text x="{LEFT}" y="32">{}</text>"#,
        panel.title, panel.y
    );
    let _ = write!(
        svg,
        r##"<path d="M{LEFT} {TOP}V{floor}H{right}" fill="none" stroke="#444"/><text x="{right}" y="{}" text-anchor="end">{}</text>"##,
        HEIGHT - 12.0,
        panel.x
    );
    for step in 0..=4 {
        let y = y_max * f64::from(step) / 4.0;
        let _ = write!(
            svg,
            r##"<path d="M{LEFT} {0}H{right}" stroke="#ddd"/><text x="{1}" y="{2}" text-anchor="end">{3}</text>"##,
            up(y),
            LEFT - 6.0,
            up(y) + 4.0,
            short(y)
        );
    }
    let mut ticks: Vec<f64> = points().map(|p| p.0).collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    for x in ticks {
        let _ = write!(
            svg,
            r#"<text x="{}" y="{}" text-anchor="middle">{}</text>"#,
            across(x),
            floor + 15.0,
            short(x)
        );
    }
    for (at, (name, points)) in panel.curves.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        let path: Vec<String> =
            points.iter().map(|p| format!("{:.1} {:.1}", across(p.0), up(p.1))).collect();
        let _ = write!(
            svg,
            r#"<path d="M{}" fill="none" stroke="{colour}" stroke-width="2"/><text x="{}" y="{}" fill="{colour}">{name}</text>"#,
            path.join("L"),
            LEFT + 10.0 + 150.0 * at as f64,
            TOP + 12.0
        );
        for p in points {
            let _ = write!(
                svg,
                r#"<circle cx="{:.1}" cy="{:.1}" r="3" fill="{colour}"/>"#,
                across(p.0),
                up(p.1)
            );
        }
    }
}

fn short(value: f64) -> String {
    if value >= 1e6 {
        format!("{:.1}M", value / 1e6)
    } else if value >= 1e3 {
        format!("{:.0}k", value / 1e3)
    } else if value >= 10.0 || value == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}
