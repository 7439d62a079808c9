// The page at `/` while the console is not built.
import type { ApiResponse } from '#http/render.ts'

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tetrad</title>
<h1>Tetrad is running</h1>
<p>The console is not built yet. In the project folder, run <code>npm run console</code> and load this page again.</p>
<p>The interfaces work without it: <a href="/openapi.json">openapi.json</a>, <a href="/readyz">readyz</a>, <a href="/coverage">coverage</a>.</p>
</html>
`

export const unbuiltPage = (headers: Readonly<Record<string, string>>): ApiResponse => ({
  status: 503,
  headers: { ...headers, 'content-type': 'text/html; charset=utf-8' },
  body: page,
})
