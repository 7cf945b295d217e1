//! Rows and fields laid out as text: aligned columns where they fit, one field a line where not.

use unicode_width::UnicodeWidthStr;

use crate::text::visible;

/// Rows under a head.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    head: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

/// A table as it is laid out.
#[derive(Clone, Debug)]
pub(crate) struct Laid {
    /// The head, if the rows stand in columns.
    pub(crate) head: Option<String>,
    /// The lines below it.
    pub(crate) lines: Vec<String>,
}

/// The fields of one thing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sheet {
    fields: Vec<(&'static str, String)>,
}

impl Table {
    /// Returns a table without rows.
    pub(crate) fn new(head: &'static [&'static str]) -> Self {
        Self { head, rows: Vec::new() }
    }

    /// Adds a row. Its cells are made safe to look at; an empty one is shown as `-`.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        assert_eq!(N, self.head.len(), "a row has as many cells as the head");
        let shown =
            cells.iter().map(|cell| if cell.is_empty() { "-".into() } else { visible(cell) });
        self.rows.push(shown.map(String::from).collect());
    }

    /// Returns the lines. Beyond `width` each row becomes a block of lines without a head.
    pub(crate) fn lay_out(&self, width: Option<usize>) -> Laid {
        let widths: Vec<usize> = (0..self.head.len()).map(|column| self.width(column)).collect();
        let total = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        if width.is_some_and(|width| total > width) {
            return Laid { head: None, lines: self.blocks() };
        }
        let head: Vec<String> = self.head.iter().map(|cell| (*cell).to_owned()).collect();
        let lines = self.rows.iter().map(|row| self.line(row, &widths)).collect();
        Laid { head: Some(self.line(&head, &widths)), lines }
    }

    /// Returns the same lines as one list, the head first.
    #[cfg(test)]
    pub(crate) fn lines(&self, width: Option<usize>) -> Vec<String> {
        let laid = self.lay_out(width);
        laid.head.into_iter().chain(laid.lines).collect()
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[column].width());
        cells.chain([self.head[column].width()]).max().unwrap_or(0)
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column].saturating_sub(cell.width()));
            if column > 0 {
                line.push_str("  ");
            }
            if self.is_number(column) {
                line.push_str(&pad);
                line.push_str(cell);
            } else {
                line.push_str(cell);
                line.push_str(&pad);
            }
        }
        line.truncate(line.trim_end().len());
        line
    }

    fn is_number(&self, column: usize) -> bool {
        let digits = |cell: &str| {
            let digits = cell.strip_prefix('-').unwrap_or(cell);
            digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        !self.rows.is_empty() && self.rows.iter().all(|row| digits(&row[column]))
    }

    fn blocks(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            if number > 0 {
                lines.push(String::new());
            }
            for (head, cell) in self.head.iter().zip(row) {
                lines.push(format!("{}: {cell}", head.to_lowercase()));
            }
        }
        lines
    }
}

impl Sheet {
    /// Adds a field. Its value is made safe to look at.
    pub(crate) fn field(&mut self, name: &'static str, value: impl AsRef<str>) -> &mut Self {
        self.fields.push((name, visible(value.as_ref()).into_owned()));
        self
    }

    /// Adds a field unless there is nothing to say.
    pub(crate) fn field_if(
        &mut self,
        name: &'static str,
        value: Option<impl AsRef<str>>,
    ) -> &mut Self {
        if let Some(value) = value {
            self.field(name, value);
        }
        self
    }

    /// Returns one line for each field, the values aligned.
    pub(crate) fn lines(&self) -> Vec<String> {
        let width = self.fields.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
        self.fields.iter().map(|(name, value)| format!("{name:width$}  {value}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn roles() -> Table {
        let mut table = Table::new(&["ROLE", "HOLDER", "TOKEN"]);
        table.row(["indexer".to_owned(), "ana".to_owned(), "12".to_owned()]);
        table.row(["漢字".to_owned(), String::new(), "1207".to_owned()]);
        table.row(["b\u{1b}[2J".to_owned(), "line\nbreak".to_owned(), "3".to_owned()]);
        table
    }

    #[test]
    fn columns_are_aligned_by_what_is_seen_and_numbers_to_the_right() {
        expect![[r#"
            ROLE        HOLDER       TOKEN
            indexer     ana             12
            漢字        -             1207
            b\u{1b}[2J  line\nbreak      3"#]]
        .assert_eq(&roles().lines(None).join("\n"));
    }

    #[test]
    fn a_narrow_terminal_gets_one_field_a_line() {
        expect![[r#"
            role: indexer
            holder: ana
            token: 12

            role: 漢字
            holder: -
            token: 1207

            role: b\u{1b}[2J
            holder: line\nbreak
            token: 3"#]]
        .assert_eq(&roles().lines(Some(20)).join("\n"));
    }
}
