//! From tokens to the tree: precedence climbing over a token vector.

use std::rc::Rc;

use super::ScriptError;
use super::token::{Kind, Token, tokens};
use super::tree::{
    Body, Entry, Expression, ExpressionKind, Function, Item, Pattern, Statement, StatementKind, Target,
};

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

/// Reads one expression that is the whole text.
pub(crate) fn parse_expression(text: &str) -> Result<Expression, ScriptError> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, at: 0, depth: 0 };
    let expression = parser.expression()?;
    parser.eat(";");
    if parser.peek() == &Kind::End { Ok(expression) } else { Err(parser.unexpected()) }
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
            Kind::Regex => "a regular expression".to_owned(),
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
            Kind::Template(..) | Kind::Regex | Kind::Mark(_) | Kind::End => return Err(self.unexpected()),
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

    fn expression(&mut self) -> Parsed<Expression> {
        self.assignment()
    }

    fn assignment(&mut self) -> Parsed<Expression> {
        self.deeper(Self::assignment_inner)
    }

    fn assignment_inner(&mut self) -> Parsed<Expression> {
        let line = self.line();
        if self.is_arrow() {
            return self.arrow(line);
        }
        // `[a, b] = …` and `({a} = …)` are not met in pages; they are refused as targets below.
        let left = self.conditional()?;
        let Kind::Mark(operator) = self.peek() else { return Ok(left) };
        if !matches!(*operator, "=" | "+=" | "-=" | "*=" | "/=" | "%=" | "&&=" | "||=" | "??=") {
            return Ok(left);
        }
        let target = self.target(left)?;
        self.at += 1;
        let value = self.assignment()?;
        Ok(make(line, ExpressionKind::Assign(operator, target, value)))
    }

    fn target(&self, expression: Expression) -> Parsed<Target> {
        match *expression.kind {
            ExpressionKind::Name(name) => Ok(Target::Pattern(Pattern::Name(name))),
            ExpressionKind::Member(object, name, false) => Ok(Target::Member(object, name)),
            ExpressionKind::Index(object, key, false) => Ok(Target::Index(object, key)),
            ExpressionKind::Chain(inner) => self.target(inner),
            _ => Err(self.unexpected()),
        }
    }

    /// Looks ahead: `name =>`, or a parenthesis whose closing one is followed by `=>`.
    fn is_arrow(&self) -> bool {
        match self.peek() {
            Kind::Name(_) => matches!(self.ahead(1), Kind::Mark("=>")),
            Kind::Mark("(") => {
                let mut depth = 0usize;
                for (offset, token) in self.tokens.get(self.at..).unwrap_or_default().iter().enumerate() {
                    match token.kind {
                        Kind::Mark("(" | "[" | "{") => depth += 1,
                        Kind::Mark(")" | "]" | "}") => {
                            depth = depth.saturating_sub(1);
                            if depth == 0 {
                                return matches!(self.ahead(offset + 1), Kind::Mark("=>"));
                            }
                        }
                        _ => {}
                    }
                }
                false
            }
            _ => false,
        }
    }

    fn arrow(&mut self, line: usize) -> Parsed<Expression> {
        let (parameters, rest) = if self.eat("(") {
            self.parameters()?
        } else {
            (vec![(Pattern::Name(self.name()?), None)], None)
        };
        self.expect("=>")?;
        let body =
            if self.is("{") { Body::Statements(self.block()?) } else { Body::Expression(self.assignment()?) };
        Ok(make(line, ExpressionKind::Function(Rc::new(Function { parameters, rest, body }))))
    }

    fn conditional(&mut self) -> Parsed<Expression> {
        let line = self.line();
        let test = self.binary(0)?;
        if !self.eat("?") {
            return Ok(test);
        }
        let then = self.assignment()?;
        self.expect(":")?;
        let other = self.assignment()?;
        Ok(make(line, ExpressionKind::Conditional(test, then, other)))
    }

    fn binary(&mut self, least: u8) -> Parsed<Expression> {
        let line = self.line();
        let mut left = self.unary()?;
        loop {
            let operator = match self.peek() {
                Kind::Mark(mark) => *mark,
                Kind::Name(word) if word == "in" => "in",
                Kind::Name(word) if word == "instanceof" => "instanceof",
                _ => return Ok(left),
            };
            let Some(level) = precedence(operator) else { return Ok(left) };
            if level < least {
                return Ok(left);
            }
            self.at += 1;
            let right = self.deeper(|parser| parser.binary(level + u8::from(operator != "**")))?;
            let kind = if matches!(operator, "&&" | "||" | "??") {
                ExpressionKind::Logical(operator, left, right)
            } else {
                ExpressionKind::Binary(operator, left, right)
            };
            left = make(line, kind);
        }
    }

    fn unary(&mut self) -> Parsed<Expression> {
        let line = self.line();
        let operator = match self.peek() {
            Kind::Mark(mark @ ("!" | "-" | "+")) => *mark,
            Kind::Mark(mark @ ("++" | "--")) => {
                self.at += 1;
                let operand = self.unary()?;
                let target = self.target(operand)?;
                return Ok(make(
                    line,
                    ExpressionKind::Step(if *mark == "++" { 1.0 } else { -1.0 }, true, target),
                ));
            }
            Kind::Name(word) if word == "typeof" => "typeof",
            Kind::Name(word) if word == "delete" => "delete",
            Kind::Name(word) if word == "void" => "void",
            _ => return self.postfix(),
        };
        self.at += 1;
        let operand = self.deeper(Self::unary)?;
        Ok(make(line, ExpressionKind::Unary(operator, operand)))
    }

    fn postfix(&mut self) -> Parsed<Expression> {
        let line = self.line();
        let mut value = self.primary()?;
        let mut chained = false;
        loop {
            let at = self.line();
            value = if self.eat(".") {
                make(at, ExpressionKind::Member(value, self.name()?, false))
            } else if self.eat("?.") {
                chained = true;
                if self.eat("(") {
                    make(at, ExpressionKind::Call(value, self.items(")")?, true))
                } else if self.eat("[") {
                    let key = self.expression()?;
                    self.expect("]")?;
                    make(at, ExpressionKind::Index(value, key, true))
                } else {
                    make(at, ExpressionKind::Member(value, self.name()?, true))
                }
            } else if self.eat("[") {
                let key = self.expression()?;
                self.expect("]")?;
                make(at, ExpressionKind::Index(value, key, false))
            } else if self.eat("(") {
                make(at, ExpressionKind::Call(value, self.items(")")?, false))
            } else {
                break;
            };
        }
        if chained {
            value = make(line, ExpressionKind::Chain(value));
        }
        if !self.fresh() && (self.is("++") || self.is("--")) {
            let amount = if self.is("++") { 1.0 } else { -1.0 };
            let target = self.target(value)?;
            self.at += 1;
            return Ok(make(line, ExpressionKind::Step(amount, false, target)));
        }
        Ok(value)
    }

    fn items(&mut self, end: &str) -> Parsed<Vec<Item>> {
        let mut list = Vec::new();
        while !self.eat(end) {
            list.push(if self.eat("...") {
                Item::Spread(self.assignment()?)
            } else {
                Item::One(self.assignment()?)
            });
            if !self.eat(",") {
                self.expect(end)?;
                break;
            }
        }
        Ok(list)
    }

    fn primary(&mut self) -> Parsed<Expression> {
        let line = self.line();
        let kind = match self.peek() {
            Kind::Number(number) => ExpressionKind::Number(*number),
            Kind::Text(text) => ExpressionKind::Text(text.as_str().into()),
            Kind::Regex => ExpressionKind::Regex,
            Kind::Template(texts, parts) => {
                let mut expressions = Vec::new();
                for part in parts {
                    let mut inner = Parser { tokens: part, at: 0, depth: self.depth + 1 };
                    expressions.push(inner.expression()?);
                    if inner.peek() != &Kind::End {
                        return Err(inner.unexpected());
                    }
                }
                ExpressionKind::Template(texts.iter().map(|text| text.as_str().into()).collect(), expressions)
            }
            Kind::Name(name) => return self.word(line, name),
            Kind::Mark("(") => return self.parenthesised(),
            Kind::Mark("[") => {
                self.at += 1;
                return Ok(make(line, ExpressionKind::Array(self.items("]")?)));
            }
            Kind::Mark("{") => return self.object(line),
            Kind::Mark(_) | Kind::End => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(make(line, kind))
    }

    fn word(&mut self, line: usize, name: &str) -> Parsed<Expression> {
        self.at += 1;
        let kind = match name {
            "undefined" => ExpressionKind::Undefined,
            "null" => ExpressionKind::Null,
            "true" => ExpressionKind::Bool(true),
            "false" => ExpressionKind::Bool(false),
            "function" => {
                if matches!(self.peek(), Kind::Name(_)) {
                    self.at += 1;
                }
                ExpressionKind::Function(self.function_rest()?)
            }
            "new" => {
                let class = self.name()?;
                let items = if self.eat("(") { self.items(")")? } else { Vec::new() };
                ExpressionKind::New(class, items)
            }
            "class" | "async" | "await" | "yield" | "import" | "super" | "this" => {
                self.at -= 1;
                return Err(self.unexpected());
            }
            _ => ExpressionKind::Name(name.into()),
        };
        Ok(make(line, kind))
    }

    fn object(&mut self, line: usize) -> Parsed<Expression> {
        self.expect("{")?;
        let mut entries = Vec::new();
        while !self.eat("}") {
            entries.push(self.entry()?);
            if !self.eat(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(make(line, ExpressionKind::Object(entries)))
    }

    fn entry(&mut self) -> Parsed<Entry> {
        let line = self.line();
        if self.eat("...") {
            return Ok(Entry::Spread(self.assignment()?));
        }
        if self.eat("[") {
            let key = self.expression()?;
            self.expect("]")?;
            self.expect(":")?;
            return Ok(Entry::Computed(key, self.assignment()?));
        }
        let getter = self.is_word("get") && matches!(self.ahead(1), Kind::Name(_) | Kind::Text(_));
        if getter {
            self.at += 1;
        }
        let plain = matches!(self.peek(), Kind::Name(_));
        let key = self.key()?;
        if self.is("(") {
            let function = self.function_rest()?;
            return Ok(match getter {
                true => Entry::Getter(key, function),
                false => Entry::Named(key, make(line, ExpressionKind::Function(function))),
            });
        }
        if self.eat(":") {
            return Ok(Entry::Named(key, self.assignment()?));
        }
        if plain {
            return Ok(Entry::Named(key.clone(), make(line, ExpressionKind::Name(key))));
        }
        Err(self.unexpected())
    }
}

fn is_statement_word(word: &str) -> bool {
    matches!(word, "if" | "for" | "while" | "switch" | "return" | "throw")
}

fn precedence(operator: &str) -> Option<u8> {
    Some(match operator {
        "??" => 1,
        "||" => 2,
        "&&" => 3,
        "===" | "!==" | "==" | "!=" => 7,
        "<" | ">" | "<=" | ">=" | "in" | "instanceof" => 8,
        "+" | "-" => 10,
        "*" | "/" | "%" => 11,
        "**" => 12,
        _ => return None,
    })
}

fn make(line: usize, kind: ExpressionKind) -> Expression {
    Expression { line, kind: Box::new(kind) }
}
