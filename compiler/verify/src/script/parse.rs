//! From tokens to the tree: precedence climbing over a token vector.

mod expression;

use std::rc::Rc;

use super::ScriptError;
use super::token::{Kind, Token, tokens};
use super::tree::{Body, Expression, Function, Pattern, Statement, StatementKind};

/// Nesting deeper than this is refused.
const DEEPEST: usize = 120;

/// Reads a script.
pub(crate) fn parse(text: &str) -> Result<Vec<Statement>, ScriptError> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, at: 0, depth: 0 };
    let mut list = Vec::new();
    while parser.peek() != &Kind::End {
        list.push(parser.statement()?);
    }
    Ok(list)
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
}

type Parsed<T> = Result<T, ScriptError>;

const END: Kind = Kind::End;

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a Kind {
        self.ahead(0)
    }

    fn ahead(&self, count: usize) -> &'a Kind {
        self.tokens.get(self.at + count).map_or(&END, |token| &token.kind)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(0, |token| token.line)
    }

    fn fresh(&self) -> bool {
        self.tokens.get(self.at).is_none_or(|token| token.fresh)
    }

    fn is(&self, mark: &str) -> bool {
        matches!(self.peek(), Kind::Mark(found) if *found == mark)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Kind::Name(found) if found == word)
    }

    fn eat(&mut self, mark: &str) -> bool {
        let found = self.is(mark);
        self.at += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, mark: &str) -> Parsed<()> {
        if self.eat(mark) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&self) -> ScriptError {
        let found = match self.peek() {
            Kind::Name(name) => format!("`{name}`"),
            Kind::Number(number) => format!("`{number}`"),
            Kind::Text(text) => format!("the text `{}`", text.chars().take(20).collect::<String>()),
            Kind::Template(..) => "a template".to_owned(),
            Kind::Regex(_) => "a regular expression".to_owned(),
            Kind::Mark(mark) => format!("`{mark}`"),
            Kind::End => "the end".to_owned(),
        };
        ScriptError { line: self.line(), why: format!("{found} is not understood here") }
    }

    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEEPEST {
            return Err(ScriptError { line: self.line(), why: "it is nested too deep".to_owned() });
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn name(&mut self) -> Parsed<Rc<str>> {
        let Kind::Name(name) = self.peek() else { return Err(self.unexpected()) };
        self.at += 1;
        Ok(name.as_str().into())
    }

    fn statement(&mut self) -> Parsed<Statement> {
        self.deeper(|parser| {
            let line = parser.line();
            let kind = parser.statement_kind()?;
            parser.eat(";");
            Ok(Statement { line, kind })
        })
    }

    fn statement_kind(&mut self) -> Parsed<StatementKind> {
        if self.is("{") {
            return Ok(StatementKind::Block(self.block()?));
        }
        if self.is(";") {
            return Ok(StatementKind::Empty);
        }
        let word = match (self.peek(), self.ahead(1)) {
            (Kind::Name(word), next)
                if !matches!(next, Kind::Mark("=" | "." | "(" | "=>")) || is_statement_word(word) =>
            {
                word.as_str()
            }
            _ => "",
        };
        match word {
            "export" => {
                self.at += 1;
                self.eat_word("default");
                self.statement_kind()
            }
            "const" | "let" | "var" => {
                self.at += 1;
                Ok(StatementKind::Declare(self.declarations()?))
            }
            "function" => {
                self.at += 1;
                let name = self.name()?;
                let function = self.function_rest()?;
                Ok(StatementKind::Function(name, function))
            }
            "return" => {
                self.at += 1;
                let empty = self.fresh() || self.is(";") || self.is("}") || self.peek() == &Kind::End;
                Ok(StatementKind::Return(if empty { None } else { Some(self.expression()?) }))
            }
            "if" => {
                self.at += 1;
                let test = self.parenthesised()?;
                let then = Box::new(self.statement()?);
                let other = if self.eat_word("else") { Some(Box::new(self.statement()?)) } else { None };
                Ok(StatementKind::If(test, then, other))
            }
            "for" => self.for_statement(),
            "while" => {
                self.at += 1;
                let test = self.parenthesised()?;
                Ok(StatementKind::While(test, Box::new(self.statement()?)))
            }
            "switch" => self.switch_statement(),
            "break" | "continue" => {
                self.at += 1;
                Ok(if word == "break" { StatementKind::Break } else { StatementKind::Continue })
            }
            "throw" => {
                self.at += 1;
                Ok(StatementKind::Throw(self.expression()?))
            }
            _ => Ok(StatementKind::Expression(self.expression()?)),
        }
    }

    fn block(&mut self) -> Parsed<Vec<Statement>> {
        self.expect("{")?;
        let mut list = Vec::new();
        while !self.eat("}") {
            if self.peek() == &Kind::End {
                return Err(self.unexpected());
            }
            list.push(self.statement()?);
        }
        Ok(list)
    }

    fn parenthesised(&mut self) -> Parsed<Expression> {
        self.expect("(")?;
        let expression = self.expression()?;
        self.expect(")")?;
        Ok(expression)
    }

    fn declarations(&mut self) -> Parsed<Vec<(Pattern, Option<Expression>)>> {
        let mut list = Vec::new();
        loop {
            let pattern = self.pattern()?;
            let value = if self.eat("=") { Some(self.assignment()?) } else { None };
            list.push((pattern, value));
            if !self.eat(",") {
                return Ok(list);
            }
        }
    }

    fn for_statement(&mut self) -> Parsed<StatementKind> {
        self.at += 1;
        self.expect("(")?;
        let line = self.line();
        let declares = ["const", "let", "var"].iter().any(|word| self.is_word(word));
        if declares {
            self.at += 1;
            let start = self.at;
            let pattern = self.pattern()?;
            if self.eat_word("of") {
                let list = self.expression()?;
                self.expect(")")?;
                return Ok(StatementKind::ForOf(pattern, list, Box::new(self.statement()?)));
            }
            self.at = start;
        }
        let first = if declares {
            Some(StatementKind::Declare(self.declarations()?))
        } else if self.is(";") {
            None
        } else {
            Some(StatementKind::Expression(self.expression()?))
        };
        let first = first.map(|kind| Box::new(Statement { line, kind }));
        self.expect(";")?;
        let test = if self.is(";") { None } else { Some(self.expression()?) };
        self.expect(";")?;
        let next = if self.is(")") { None } else { Some(self.expression()?) };
        self.expect(")")?;
        Ok(StatementKind::For(first, test, next, Box::new(self.statement()?)))
    }

    fn switch_statement(&mut self) -> Parsed<StatementKind> {
        self.at += 1;
        let value = self.parenthesised()?;
        self.expect("{")?;
        let mut cases: Vec<(Option<Expression>, Vec<Statement>)> = Vec::new();
        while !self.eat("}") {
            if self.eat_word("default") {
                cases.push((None, Vec::new()));
            } else if self.eat_word("case") {
                cases.push((Some(self.expression()?), Vec::new()));
            } else {
                let statement = self.statement()?;
                match cases.last_mut() {
                    Some((_, statements)) => statements.push(statement),
                    None => return Err(self.unexpected()),
                }
                continue;
            }
            self.expect(":")?;
        }
        Ok(StatementKind::Switch(value, cases))
    }

    fn pattern(&mut self) -> Parsed<Pattern> {
        self.deeper(Self::pattern_inner)
    }

    fn pattern_inner(&mut self) -> Parsed<Pattern> {
        if self.eat("[") {
            let (mut items, mut rest) = (Vec::new(), None);
            while !self.eat("]") {
                if self.eat(",") {
                    items.push(None);
                    continue;
                }
                if self.eat("...") {
                    rest = Some(Box::new(self.pattern()?));
                } else {
                    let pattern = self.pattern()?;
                    let default = if self.eat("=") { Some(self.assignment()?) } else { None };
                    items.push(Some((pattern, default)));
                }
                if !self.eat(",") {
                    self.expect("]")?;
                    break;
                }
            }
            return Ok(Pattern::Array(items, rest));
        }
        if self.eat("{") {
            let (mut entries, mut rest) = (Vec::new(), None);
            while !self.eat("}") {
                if self.eat("...") {
                    rest = Some(self.name()?);
                } else {
                    let key = self.key()?;
                    let pattern = if self.eat(":") { self.pattern()? } else { Pattern::Name(key.clone()) };
                    let default = if self.eat("=") { Some(self.assignment()?) } else { None };
                    entries.push((key, pattern, default));
                }
                if !self.eat(",") {
                    self.expect("}")?;
                    break;
                }
            }
            return Ok(Pattern::Object(entries, rest));
        }
        Ok(Pattern::Name(self.name()?))
    }

    fn key(&mut self) -> Parsed<Rc<str>> {
        let key: Rc<str> = match self.peek() {
            Kind::Name(name) => name.as_str().into(),
            Kind::Text(text) => text.as_str().into(),
            Kind::Number(number) => super::value::number_text(*number).as_str().into(),
            Kind::Template(..) | Kind::Regex(_) | Kind::Mark(_) | Kind::End => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(key)
    }

    /// Reads parameters and body of a function.
    fn function_rest(&mut self) -> Parsed<Rc<Function>> {
        self.expect("(")?;
        let (parameters, rest) = self.parameters()?;
        let body = Body::Statements(self.block()?);
        Ok(Rc::new(Function { parameters, rest, body }))
    }

    /// Reads parameters after the opening parenthesis, up to and with the closing one.
    #[expect(clippy::type_complexity, reason = "parameters with defaults, and what takes the rest")]
    fn parameters(&mut self) -> Parsed<(Vec<(Pattern, Option<Expression>)>, Option<Pattern>)> {
        let (mut list, mut rest) = (Vec::new(), None);
        while !self.eat(")") {
            if self.eat("...") {
                rest = Some(self.pattern()?);
            } else {
                let pattern = self.pattern()?;
                let default = if self.eat("=") { Some(self.assignment()?) } else { None };
                list.push((pattern, default));
            }
            if !self.eat(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok((list, rest))
    }
}

fn is_statement_word(word: &str) -> bool {
    matches!(word, "if" | "for" | "while" | "switch" | "return" | "throw")
}
