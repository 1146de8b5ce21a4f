//! `toXML`.

use std::collections::BTreeSet;

use crate::call::Args;
use crate::failure::Outcome;
use crate::machine::Machine;
use crate::slot::{Slot, SlotId};

pub(super) fn to_xml(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    machine.force_deep(args.list[0])?;
    let mut writer = Writer { out: Vec::new(), depth: 1 };
    writer.out.extend_from_slice(b"<?xml version='1.0' encoding='utf-8'?>\n<expr>\n");
    write(machine, args.list[0], &mut writer, &mut BTreeSet::new())?;
    writer.out.extend_from_slice(b"</expr>\n");
    machine.string(&writer.out, args.at)
}

struct Writer {
    out: Vec<u8>,
    depth: usize,
}

impl Writer {
    fn line(&mut self, parts: &[&[u8]]) {
        self.out.resize(self.out.len() + self.depth * 2, b' ');
        for part in parts {
            self.out.extend_from_slice(part);
        }
        self.out.push(b'\n');
    }

    fn value(&mut self, element: &str, value: &[u8]) {
        self.line(&[b"<", element.as_bytes(), b" value=\"", &escaped(value), b"\" />"]);
    }

    fn open(&mut self, tag: &[u8]) {
        self.line(&[b"<", tag, b">"]);
        self.depth += 1;
    }

    fn close(&mut self, tag: &[u8]) {
        self.depth -= 1;
        self.line(&[b"</", tag, b">"]);
    }
}

fn escaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        match byte {
            b'"' => out.extend_from_slice(b"&quot;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'\n' => out.extend_from_slice(b"&#xA;"),
            byte => out.push(byte),
        }
    }
    out
}

fn write(
    machine: &mut Machine<'_>,
    value: Slot,
    writer: &mut Writer,
    seen: &mut BTreeSet<SlotId>,
) -> Outcome<()> {
    if writer.out.len() as u64 > machine.limits.output {
        return Err(machine.too_much_output());
    }
    match value {
        Slot::Null { .. } => writer.line(&[b"<null />"]),
        Slot::Bool { value, .. } => writer.value("bool", if value { b"true" } else { b"false" }),
        Slot::Int { value, .. } => writer.value("int", value.to_string().as_bytes()),
        Slot::Float { value, .. } => writer.value("float", crate::number::printed(value).as_bytes()),
        Slot::String { .. } => writer.value("string", machine.bytes_of(value)),
        Slot::Path { .. } => writer.value("path", machine.bytes_of(value)),
        Slot::List { start, len, .. } => {
            writer.open(b"list");
            for slot in start..start + len {
                write_part(machine, slot, writer, seen)?;
            }
            writer.close(b"list");
        }
        Slot::Attrs { shape, start, .. } => {
            writer.open(b"attrs");
            let layout = machine.shapes.get(shape).layout;
            for index in machine.ordered(shape) {
                let position = machine.shapes.ordered(index);
                let name = machine.shapes.names(layout)[position as usize];
                let name = escaped(machine.name(name).as_bytes());
                writer.open(&[b"attr name=\"", name.as_slice(), b"\""].concat());
                write_part(machine, start + position, writer, seen)?;
                writer.close(b"attr");
            }
            writer.close(b"attrs");
        }
        Slot::Lambda { lambda, .. } => write_function(machine, lambda, writer),
        _ => writer.line(&[b"<unevaluated />"]),
    }
    Ok(())
}

fn write_part(
    machine: &mut Machine<'_>,
    slot: SlotId,
    writer: &mut Writer,
    seen: &mut BTreeSet<SlotId>,
) -> Outcome<()> {
    machine.nested(|machine| {
        let value = machine.force_at(slot)?;
        write(machine, value, writer, seen)
    })
}

fn write_function(machine: &Machine<'_>, lambda: u32, writer: &mut Writer) {
    let lambda = machine.code.lambdas[lambda as usize];
    let text = |start, end| {
        let file = machine.code.file(lambda.node);
        file.map_or("", |file| machine.sources.text(diag::Span::new(file, start, end)))
    };
    writer.open(b"function");
    if lambda.pattern {
        let mut tag = b"attrspat".to_vec();
        if lambda.open {
            tag.extend_from_slice(b" ellipsis=\"1\"");
        }
        if let Some(name) = lambda.whole_name.checked_sub(1) {
            tag.extend_from_slice(format!(" name=\"{}\"", machine.name(name)).as_bytes());
        }
        writer.open(&tag);
        let mut names: Vec<&str> = machine.code.formals[lambda.formals as usize..]
            [..lambda.formal_count as usize]
            .iter()
            .map(|formal| machine.name(formal.name))
            .collect();
        names.sort_unstable();
        for name in names {
            writer.line(&[b"<attr name=\"", &escaped(name.as_bytes()), b"\" />"]);
        }
        writer.close(b"attrspat");
    } else {
        let name = text(lambda.start, lambda.end);
        writer.line(&[b"<varpat name=\"", &escaped(name.as_bytes()), b"\" />"]);
    }
    writer.close(b"function");
}
