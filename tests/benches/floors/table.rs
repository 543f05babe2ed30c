//! The table of results.

use std::time::Duration;

/// How a row is judged.
#[derive(Debug, Clone, Copy, Default)]
pub enum Target {
    /// Our number may be at most this.
    AtMost(f64),
    /// Our number may be at most this many times the floor.
    TimesFloor(f64),
    /// Our number must be at least this.
    AtLeast(f64),
    /// Our number must be at least this share of the floor.
    ShareOfFloor(f64),
    /// Only shown.
    #[default]
    None,
}

#[derive(Debug, Default)]
pub struct Row {
    pub what: &'static str,
    pub ours: f64,
    /// The same by the bare system.
    pub floor: Option<f64>,
    pub unit: &'static str,
    pub target: Target,
    /// How it was measured.
    pub note: String,
}

impl Row {
    pub fn is_met(&self) -> bool {
        let floor = self.floor.unwrap_or(f64::NAN);
        match self.target {
            Target::AtMost(most) => self.ours <= most,
            Target::TimesFloor(times) => self.ours <= times * floor,
            Target::AtLeast(least) => self.ours >= least,
            Target::ShareOfFloor(share) => self.ours >= share * floor,
            Target::None => true,
        }
    }

    fn cells(&self) -> [String; 7] {
        let number = |value: f64| {
            let digits = if value >= 1000.0 { 0 } else { 2 };
            format!("{value:.digits$} {}", self.unit)
        };
        let target = match self.target {
            Target::AtMost(most) => format!("≤ {most} {}", self.unit),
            Target::TimesFloor(times) => format!("≤ {times} × floor"),
            Target::AtLeast(least) => format!("≥ {least} {}", self.unit),
            Target::ShareOfFloor(share) => format!("≥ {share} × floor"),
            Target::None => "—".to_owned(),
        };
        let verdict = match (self.target, self.is_met()) {
            (Target::None, _) => "",
            (_, true) => "met",
            (_, false) => "MISSED",
        };
        [
            self.what.to_owned(),
            number(self.ours),
            self.floor.map_or("—".to_owned(), number),
            self.floor.map_or("—".to_owned(), |floor| {
                format!("{:.2}", self.ours / floor)
            }),
            target,
            verdict.to_owned(),
            self.note.clone(),
        ]
    }
}

pub fn print(rows: &[Row]) {
    let mut lines =
        vec![["", "ours", "floor", "ratio", "target", "", "measured"].map(str::to_owned)];
    lines.extend(rows.iter().map(Row::cells));
    let width = |column: usize| {
        lines
            .iter()
            .map(|cells| cells[column].chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: [usize; 7] = std::array::from_fn(width);
    for cells in &lines {
        let line: Vec<String> = cells
            .iter()
            .zip(widths)
            .enumerate()
            // Numbers line up at their right.
            .map(|(column, (cell, width))| match column {
                1..=3 => format!("{cell:>width$}"),
                _ => format!("{cell:<width$}"),
            })
            .collect();
        println!("{}", line.join("  ").trim_end());
    }
}

/// The middle one.
pub fn median(samples: &mut [Duration]) -> Duration {
    samples.sort_unstable();
    samples[samples.len() / 2]
}

pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
