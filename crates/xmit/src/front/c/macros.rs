//! Macros by C's rules: what they stand for takes the place of their names, token by token.

use super::directives::Group;
use super::source::{Queued, Source, Token};
use crate::front::tokens::{Sort, Tokens};
use isoform_core::{Code, Error, Result};
use std::collections::HashMap;

/// What macros may cost in one document: a token that they expand to, or eight bytes that are read for it, costs 1.
const MAX_SPENT: usize = 1 << 20;
/// Tokens in the arguments of one macro.
const MAX_ARGUMENTS: usize = 1 << 17;
/// Bytes of a word that `#` or `##` makes.
const MAX_MADE: usize = 4_096;

/// What is known of a macro.
#[derive(Clone, Copy)]
pub(super) enum Macro<'t> {
    Kept(Kept<'t>),
    /// There is none of the name.
    Gone,
    /// The header does not decide what it is; the number is that of a doubt.
    Doubtful(usize),
}

/// The text of a definition. It is read where it is used.
#[derive(Clone, Copy)]
pub(super) struct Kept<'t> {
    /// What stands between the parentheses, if it has parameters.
    pub(super) parameters: Option<&'t str>,
    pub(super) body: &'t str,
}

/// The meanings of a macro that `#pragma push_macro` kept, and the doubt in which one of its pragmas stood.
pub(super) type Pushed<'t> = (Vec<Option<(&'t str, (Macro<'t>, usize))>>, Option<usize>);

/// What GCC knows without a header, as far as it is the same on every machine: this reader lays structs out as GCC does.
pub(super) fn known<'t>() -> HashMap<&'t str, (Macro<'t>, usize)> {
    let values = [("__GNUC__", "12"), ("__STDC__", "1"), ("__STDC_VERSION__", "201710L"), ("__CHAR_BIT__", "8")];
    let kept = |body| Macro::Kept(Kept { parameters: None, body });
    let missing = ["__cplusplus", "_MSC_VER", "__clang__", "__STRICT_ANSI__", "__ASSEMBLER__", "__ASSEMBLY__"];
    let missing = missing.map(|name| (name, Macro::Gone));
    let all = values.map(|(name, body)| (name, kept(body))).into_iter().chain(missing);
    // No file changes these.
    all.map(|(name, known)| (name, (known, usize::MAX))).collect()
}

impl<'t> Source<'t> {
    /// Learns what a macro is.
    pub(super) fn learn(&mut self, name: &'t str, known: Macro<'t>) {
        self.macros.insert(name, (known, self.includes));
    }

    /// What is known of a macro here, and its name. A file that has been included meanwhile may have changed it.
    pub(super) fn known(&mut self, name: &str) -> Option<(&'t str, Macro<'t>)> {
        let (&name, &(known, since)) = self.macros.get_key_value(name)?;
        Some((name, self.doubt_since(name, since).map_or(known, Macro::Doubtful)))
    }

    /// `#pragma push_macro("NAME")`, or `pop_macro`. Where it is not known whether compilers see it, the macro stays in doubt.
    pub(super) fn keep_macro(&mut self, name: &str, push: bool) {
        let kept = self.kept.entry(name.to_owned()).or_default();
        let known = self.macros.get_key_value(name).map(|(&name, &known)| (name, known));
        kept.1 = kept.1.or(self.groups.iter().find_map(Group::doubt));
        match (kept.1, push) {
            (Some(doubt), _) => _ = known.map(|(name, _)| self.learn(name, Macro::Doubtful(doubt))),
            (None, true) => kept.0.push(known),
            (None, false) => match kept.0.pop() {
                Some(Some((name, known))) => _ = self.macros.insert(name, known),
                Some(None) => _ = self.macros.remove(name),
                None => {}
            },
        }
    }

    /// The next token behind macros.
    pub(super) fn expand(&mut self) -> Result<Token<'t>> {
        loop {
            let mut token = self.pull()?;
            if token.kind != Sort::Word || token.painted {
                return Ok(token);
            }
            if token.text == "_Pragma" {
                self.pragma_operator(token.line)?;
                continue;
            }
            let Some((name, known)) = self.known(&token.text) else { return Ok(token) };
            match known {
                Macro::Gone => return Ok(token),
                Macro::Doubtful(doubt) => {
                    token.doubt.get_or_insert(doubt);
                    return Ok(token);
                }
                Macro::Kept(_) if self.open.contains(name) => {
                    token.painted = true;
                    return Ok(token);
                }
                Macro::Kept(kept) => {
                    if let Some(token) = self.replace(name, kept, token)? {
                        return Ok(token);
                    }
                }
            }
        }
    }

    /// The next token of the queue or of the text, before macros.
    fn pull(&mut self) -> Result<Token<'t>> {
        while let Some(queued) = self.queue.pop_front() {
            match queued {
                Queued::Token(token) => return Ok(token),
                Queued::EndOf(name) => _ = self.open.remove(name),
            }
        }
        match self.closed {
            true => Ok(Token::new(Sort::End, "", self.peek().line)),
            false => self.pull_text(),
        }
    }

    /// Puts what a macro stands for into the queue. The name itself comes back if it is none of a macro here, or cannot be replaced.
    fn replace(&mut self, name: &'t str, kept: Kept<'t>, mut token: Token<'t>) -> Result<Option<Token<'t>>> {
        let mut arguments = Arguments::default();
        if let Some(parameters) = kept.parameters {
            let includes = self.includes;
            let next = self.pull()?;
            let is_used = next.is("(");
            if is_used {
                self.spend(parameters.len() / 8)?;
                arguments.name(parameters);
                self.arguments(&mut arguments)?;
            }
            if self.includes > includes {
                let error = self.fault(token.line).expected("the arguments of a macro without #include");
                token.doubt = Some(self.note(error.found(name)));
            }
            if !is_used {
                self.queue.push_front(Queued::Token(next));
                return Ok(Some(token));
            }
        }
        self.spend(1 + kept.body.len() / 8)?;
        let made = match arguments.check() {
            true => self.body(kept, &mut arguments, token.line)?,
            false => Err(self.fault(token.line).expected("the arguments of the macro").found(name)),
        };
        let made = match made {
            Ok(made) => made,
            Err(error) => {
                let doubt = self.note(error);
                token.doubt.get_or_insert(doubt);
                return Ok(Some(token));
            }
        };
        self.spend(made.len())?;
        self.lead.append(&mut token.lead);
        self.trail.append(&mut token.trail);
        self.open.insert(name);
        self.queue.push_front(Queued::EndOf(name));
        for mut made in made.into_iter().rev() {
            made.line = token.line;
            made.doubt = token.doubt.or(made.doubt);
            self.queue.push_front(Queued::Token(made));
        }
        Ok(None)
    }

    /// Reads arguments up to the parenthesis behind them.
    fn arguments(&mut self, arguments: &mut Arguments<'t>) -> Result<()> {
        let (mut open, mut count) = (0usize, 0usize);
        arguments.lists.push(Vec::new());
        loop {
            let token = self.pull()?;
            count += 1;
            if token.kind == Sort::End {
                return Err(self.fault(token.line).expected("`)` behind the arguments of a macro").found("the end"));
            }
            if count > MAX_ARGUMENTS {
                let error = self.fault_of(Code::MessageSize, token.line);
                return Err(error.expected(format_args!("at most {MAX_ARGUMENTS} words in the arguments of a macro")));
            }
            let is_last = arguments.variadic && arguments.lists.len() == arguments.places.len();
            match &*token.text {
                ")" if open == 0 && token.is(")") => return Ok(()),
                "," if open == 0 && token.is(",") && !is_last => {
                    arguments.lists.push(Vec::new());
                    continue;
                }
                "(" if token.is("(") => open += 1,
                ")" if token.is(")") => open -= 1,
                _ => {}
            }
            arguments.lists.last_mut().expect("one is there").push(token);
        }
    }

    /// The tokens of a macro with its arguments in their places, or why there are none.
    fn body(
        &mut self,
        kept: Kept<'t>,
        arguments: &mut Arguments<'t>,
        line: u32,
    ) -> Result<std::result::Result<Vec<Token<'t>>, Error>> {
        let body = match self.words(kept.body, line) {
            Ok(body) => body,
            Err(error) => return Ok(Err(error)),
        };
        let Arguments { places, variadic, lists, expanded } = arguments;
        let (mut out, mut left, mut is_pasting, mut at) = (Vec::<Token<'t>>::new(), 0, false, 0);
        while at < body.len() {
            let token = &body[at];
            at += 1;
            if token.is("##") && at > 1 && at < body.len() {
                is_pasting = true;
                continue;
            }
            let is_pasted = is_pasting || body.get(at).is_some_and(|next| next.is("##"));
            let is_text = token.is("#") && kept.parameters.is_some();
            let place = |token: &Token<'t>| match token.kind {
                Sort::Word => places.get(&*token.text).copied(),
                _ => None,
            };
            let piece = match (is_text.then(|| body.get(at).and_then(place)).flatten(), place(token)) {
                (Some(argument), _) => {
                    at += 1;
                    vec![joined(lists.get(argument), line)]
                }
                (None, Some(argument)) if is_pasted => lists.get(argument).cloned().unwrap_or_default(),
                (None, Some(argument)) => self.expanded_argument(lists, expanded, argument)?,
                (None, None) => vec![token.clone()],
            };
            self.spend(piece.len())?;
            if !is_pasting {
                left = out.len();
                out.extend(piece);
                continue;
            }
            is_pasting = false;
            let is_rest = *variadic && place(token) == Some(places.len() - 1);
            if is_rest && out.last().is_some_and(|last| last.is(",")) {
                // GNU C: the comma goes if there is nothing behind it.
                if piece.is_empty() {
                    out.pop();
                }
                out.extend(piece);
            } else if out.len() == left || piece.is_empty() {
                out.extend(piece);
            } else {
                let mut piece = piece.into_iter();
                let (Some(last), Some(first)) = (out.pop(), piece.next()) else { continue };
                match pasted(&last, &first, line) {
                    Some(token) => out.push(token),
                    None => {
                        let error = self.fault(line).expected("words that `##` makes one of");
                        return Ok(Err(error.found(format_args!("{} ## {}", last.text, first.text))));
                    }
                }
                out.extend(piece);
            }
        }
        Ok(Ok(out))
    }

    /// An argument with its macros expanded.
    fn expanded_argument(
        &mut self,
        lists: &[Vec<Token<'t>>],
        expanded: &mut HashMap<usize, Vec<Token<'t>>>,
        place: usize,
    ) -> Result<Vec<Token<'t>>> {
        let Some(list) = lists.get(place) else { return Ok(Vec::new()) };
        if let Some(known) = expanded.get(&place) {
            return Ok(known.clone());
        }
        let made = self.expand_all(list.clone())?;
        expanded.insert(place, made.clone());
        Ok(made)
    }

    /// A list of tokens with its macros expanded.
    pub(super) fn expand_all(&mut self, tokens: Vec<Token<'t>>) -> Result<Vec<Token<'t>>> {
        self.check_levels(self.levels)?;
        self.levels += 1;
        let queue = std::mem::replace(&mut self.queue, tokens.into_iter().map(Queued::Token).collect());
        let closed = std::mem::replace(&mut self.closed, true);
        let mut out = Vec::new();
        loop {
            let token = self.expand()?;
            if token.kind == Sort::End {
                break;
            }
            out.push(token);
        }
        (self.queue, self.closed) = (queue, closed);
        self.levels -= 1;
        Ok(out)
    }

    /// The words of a line of text, which stand at a line of the document.
    pub(super) fn words(&self, text: &'t str, line: u32) -> Result<Vec<Token<'t>>> {
        let mut tokens = Tokens::in_c(self.name(), Some(line), text)?;
        let mut words = Vec::new();
        while tokens.peek().kind != Sort::End {
            let token = tokens.next()?;
            words.push(Token::new(token.kind, token.text, line));
        }
        Ok(words)
    }

    /// Counts what macros cost.
    fn spend(&mut self, cost: usize) -> Result<()> {
        self.spent += cost;
        match self.spent > MAX_SPENT {
            false => Ok(()),
            true => {
                let error = self.fault_of(Code::MessageSize, self.peek().line);
                Err(error.expected(format_args!("at most {MAX_SPENT} words that macros stand for")))
            }
        }
    }
}

/// The arguments of one use of a macro.
#[derive(Default)]
struct Arguments<'t> {
    /// The numbers of the parameters.
    places: HashMap<&'t str, usize>,
    /// Whether the last parameter takes all that is left.
    variadic: bool,
    lists: Vec<Vec<Token<'t>>>,
    /// The arguments with their macros expanded, as far as they were needed.
    expanded: HashMap<usize, Vec<Token<'t>>>,
}

impl<'t> Arguments<'t> {
    /// Takes the names of parameters.
    fn name(&mut self, parameters: &'t str) {
        for name in parameters.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let rest = name.strip_suffix("...");
            self.variadic = rest.is_some();
            let name = match rest.map(str::trim) {
                Some("") => "__VA_ARGS__",
                Some(name) => name,
                None => name,
            };
            let place = self.places.len();
            self.places.insert(name, place);
        }
    }

    /// Whether there is an argument for each parameter. The last one of a variadic macro may be missing.
    fn check(&mut self) -> bool {
        let (wanted, found) = (self.places.len(), self.lists.len());
        match self.variadic {
            true => found + 1 >= wanted && found <= wanted,
            false => wanted == found || wanted == 0 && self.lists.iter().all(Vec::is_empty),
        }
    }
}

/// An argument as a text.
fn joined<'t>(list: Option<&Vec<Token<'t>>>, line: u32) -> Token<'t> {
    let mut text = String::new();
    for token in list.into_iter().flatten() {
        if text.len() + token.text.len() > MAX_MADE {
            break;
        }
        text.push_str(&token.text);
        text.push(' ');
    }
    Token::new(Sort::Text, text, line)
}

/// Two tokens as one, if that is one.
fn pasted<'t>(left: &Token<'t>, right: &Token<'t>, line: u32) -> Option<Token<'t>> {
    let text = format!("{}{}", left.text, right.text);
    if text.len() > MAX_MADE || matches!(left.kind, Sort::Text | Sort::Character) || right.kind == Sort::Text {
        return None;
    }
    let mut tokens = Tokens::in_c("", Some(line), &text).ok()?;
    let kind = tokens.next().ok().filter(|first| first.text.len() == text.len())?.kind;
    (tokens.peek().kind == Sort::End).then(|| Token::new(kind, text, line))
}
