// The page about a sidecar that keeps ending, as HTML. Pure. What comes from outside is shown as text.

export interface Trouble {
    /** Which program runs for which folder. */
    programs: string[];
    ends: string[];
    /** The end of the log. */
    log: string;
}

export function troublePage({ programs, ends, log }: Trouble, cspSource: string): string {
    return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${escapeHtml(cspSource)} 'unsafe-inline'">
<title>The sidecar ended</title>
<style>
body { max-width: 60em; padding: 1em 2em; }
pre { max-height: 30em; overflow: auto; padding: 1em; background: var(--vscode-textCodeBlock-background); }
a { color: var(--vscode-textLink-foreground); }
</style>
</head>
<body>
<h1>The sidecar ended several times and is not started again</h1>
<p>Nothing is lost: runs that it was at are kept and are offered again once it runs.</p>
<h2>What to do</h2>
<ol>
<li><a href="command:outrigger.restart">Start it again</a>. If it runs now, this page can be closed.</li>
<li>Read the end of the log below; <a href="command:outrigger.showLog">the whole log</a> has more when
<code>outrigger.log.level</code> is <code>debug</code>.</li>
<li>See whether it is the right program: ${list(programs)}
<a href="command:outrigger.findProgram">Choose another one</a>.</li>
<li>Run <code>outrigger demo</code> in a terminal: whether it works there tells whose fault it is.</li>
<li><a href="command:outrigger.copyTrouble">Copy all this</a> for a report.</li>
</ol>
<h2>How it ended</h2>
${list(ends.length > 0 ? ends : ['Nothing was written about it.'])}
<h2>The end of the log</h2>
<pre tabindex="0">${escapeHtml(log === '' ? 'The log is empty.' : log)}</pre>
</body>
</html>`;
}

function list(lines: readonly string[]): string {
    return `<ul>${lines.map((line) => `<li><code>${escapeHtml(line)}</code></li>`).join('')}</ul>`;
}

export function escapeHtml(text: string): string {
    return text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}
