//! The fenced blocks of a Markdown document.

/// One fenced block.
pub(crate) struct Fence {
    /// Line of the opening fence, counted from 1.
    pub(crate) line: usize,
    /// What follows the opening fence: the language, and what it says beside.
    info: String,
    pub(crate) text: String,
    /// Whether only empty lines stand between this block and the one before.
    follows: bool,
}

impl Fence {
    fn language(&self) -> &str {
        self.info.split([' ', ',']).next().unwrap_or_default()
    }

    /// Returns the file that the block is to be written to.
    pub(crate) fn file(&self) -> Option<&str> {
        let name = self.info.split(' ').nth(1)?;
        (!name.starts_with("no-run") && name.contains('.')).then_some(name)
    }

    /// Returns `Some` for a shell command, with the reason why it is not run, if it is not.
    pub(crate) fn command(&self) -> Option<Option<&str>> {
        let not_run =
            self.info.split_once("no-run").map(|(_, reason)| reason.trim_matches([':', ' ']));
        (self.language() == "sh").then_some(not_run)
    }

    /// Returns whether the command is to fail, as one that shows an error message is.
    pub(crate) fn fails(&self) -> bool {
        self.info.split(' ').nth(1) == Some("fails")
    }

    /// Returns whether the block is what the command before it prints.
    pub(crate) fn is_output_of(&self, command: &Fence) -> bool {
        self.follows && self.line > command.line && matches!(self.language(), "text" | "json")
    }
}

pub(crate) fn parse(document: &str) -> Vec<Fence> {
    let mut fences: Vec<Fence> = Vec::new();
    let (mut open, mut follows) = (None::<Fence>, false);
    for (number, line) in document.lines().enumerate() {
        let opening = line.trim_start().strip_prefix("```");
        match (open.take(), opening) {
            (Some(fence), Some(_)) => {
                fences.push(fence);
                follows = true;
            }
            (Some(mut fence), None) => {
                fence.text.push_str(line);
                fence.text.push('\n');
                open = Some(fence);
            }
            (None, Some(info)) => {
                let info = info.to_owned();
                open = Some(Fence { line: number + 1, info, text: String::new(), follows });
            }
            (None, None) => follows &= line.trim().is_empty(),
        }
    }
    assert!(open.is_none(), "a fence is not closed");
    fences
}
