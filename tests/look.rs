#![allow(clippy::unwrap_used, clippy::print_stdout)]
#[path = "gates/captures.rs"]
mod captures;
#[test]
fn look() {
    let root = std::path::PathBuf::from(std::env::var_os("LOOK").unwrap());
    for capture in captures::all(&root) {
        let r = capture.report();
        println!(
            "== {} {:?} partial={} notes={:?}",
            capture.title(),
            r.outcome,
            r.partial,
            r.notes
        );
        for f in &r.findings {
            let text = f.place.as_ref().map(|p| {
                let path = match &p.file {
                    outrigger::kernel::finding::SourceFile::Workspace(w) => {
                        capture.folder.join("workspace").join(w.as_str())
                    }
                    outrigger::kernel::finding::SourceFile::Outside(_) => {
                        return "OUTSIDE".to_owned();
                    }
                };
                let b = std::fs::read(path).unwrap_or_default();
                let b = b.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&b);
                String::from_utf8_lossy(
                    b.get(p.bytes.0 as usize..p.bytes.1 as usize)
                        .unwrap_or_default(),
                )
                .into_owned()
            });
            println!(
                "   {} {:?} {:?} code={:?} src={} kind={:?} text={:?} msg={:?} test={:?} tags={:?} href={:?}",
                f.at(),
                f.severity,
                f.place.as_ref().map(|p| (
                    p.range.start.utf16,
                    p.range.end.line + 1,
                    p.range.end.utf16
                )),
                f.code,
                f.source,
                f.place.as_ref().map(|p| p.kind),
                text,
                f.message,
                f.test,
                f.tags,
                f.href
            );
            for r in &f.related {
                println!(
                    "       rel {}:{}:{} {:?}",
                    r.place.file,
                    r.place.range.start.line + 1,
                    r.place.range.start.utf16,
                    r.message
                );
            }
            for x in &f.fixes {
                println!(
                    "       fix {:?} {:?} {:?}",
                    x.title,
                    x.applicability,
                    x.edits
                        .iter()
                        .map(|e| (
                            e.place.range.start.line + 1,
                            e.place.range.start.utf16,
                            e.place.range.end.line + 1,
                            e.place.range.end.utf16,
                            &e.new_text
                        ))
                        .collect::<Vec<_>>()
                );
            }
        }
    }
}
