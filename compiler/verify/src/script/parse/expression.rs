//! Expressions, by precedence climbing.

use std::rc::Rc;

use super::super::token::Kind;
use super::super::tree::{Body, Entry, Expression, ExpressionKind, Function, Item, Pattern, Target};
use super::{Parsed, Parser};

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parsed<Expression> {
        self.assignment()
    }

    pub(super) fn assignment(&mut self) -> Parsed<Expression> {
        self.deeper(Self::assignment_inner)
    }

    pub(super) fn assignment_inner(&mut self) -> Parsed<Expression> {
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

    pub(super) fn target(&self, expression: Expression) -> Parsed<Target> {
        match *expression.kind {
            ExpressionKind::Name(name) => Ok(Target::Pattern(Pattern::Name(name))),
            ExpressionKind::Member(object, name, false) => Ok(Target::Member(object, name)),
            ExpressionKind::Index(object, key, false) => Ok(Target::Index(object, key)),
            ExpressionKind::Chain(inner) => self.target(inner),
            _ => Err(self.unexpected()),
        }
    }

    /// Looks ahead: `name =>`, or a parenthesis whose closing one is followed by `=>`.
    pub(super) fn is_arrow(&self) -> bool {
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

    pub(super) fn arrow(&mut self, line: usize) -> Parsed<Expression> {
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

    pub(super) fn conditional(&mut self) -> Parsed<Expression> {
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

    pub(super) fn binary(&mut self, least: u8) -> Parsed<Expression> {
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

    pub(super) fn unary(&mut self) -> Parsed<Expression> {
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

    pub(super) fn postfix(&mut self) -> Parsed<Expression> {
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

    pub(super) fn items(&mut self, end: &str) -> Parsed<Vec<Item>> {
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

    pub(super) fn primary(&mut self) -> Parsed<Expression> {
        let line = self.line();
        let kind = match self.peek() {
            Kind::Number(number) => ExpressionKind::Number(*number),
            Kind::Text(text) => ExpressionKind::Text(text.as_str().into()),
            Kind::Regex(text) => ExpressionKind::Regex(text.as_str().into()),
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

    pub(super) fn word(&mut self, line: usize, name: &str) -> Parsed<Expression> {
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

    pub(super) fn object(&mut self, line: usize) -> Parsed<Expression> {
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

    pub(super) fn entry(&mut self) -> Parsed<Entry> {
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

pub(super) fn make(line: usize, kind: ExpressionKind) -> Expression {
    Expression { line, kind: Box::new(kind) }
}
