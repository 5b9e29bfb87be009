//! The lines of a table as cells.

/// The most lines of a table.
const MOST_LINES: usize = 1_000_000;

/// Lines of a table with their numbers: commas between cells, quotes around those that hold commas
/// or quotes.
pub(crate) fn lines(text: &str) -> Result<Vec<(usize, Vec<String>)>, String> {
    let mut out = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        // A name with such letters would be another one on every terminal.
        if line.contains(|letter: char| letter.is_control() && letter != '\t') {
            return Err(format!("line {number} holds a control character"));
        }
        if out.len() > MOST_LINES {
            return Err(format!("has more than {MOST_LINES} lines"));
        }
        out.push((
            number,
            cells(line).ok_or_else(|| format!("line {number}: a quote does not end"))?,
        ));
    }
    Ok(out)
}

fn cells(line: &str) -> Option<Vec<String>> {
    let (mut out, mut cell, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => out.push(std::mem::take(&mut cell)),
            other => cell.push(other),
        }
    }
    out.push(cell);
    (!is_quoted).then_some(out)
}
