import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { allRoutes } from '#api/contract/routes.ts'
import { createSearch } from '../../console/shared/text-search.ts'
import { listCommands } from '../commands.ts'
import { buildSite } from './build.ts'
import { renderMarkdown } from './markdown.ts'
import { renderSite, sourceFiles } from './pages.ts'
import { pathOf, sidebar } from './site-map.ts'

const site = renderSite({ isServed: true })
const others = new Set(['site.css', 'site.js', 'favicon.svg', ...site.files.keys()])

describe('pages', () => {
  test('every internal link and anchor resolves', () => {
    const ids = new Map(
      [...site.pages].map(([path, html]) => [path, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]),
    )
    const broken: string[] = []
    let count = 0
    for (const [path, html] of site.pages) {
      for (const [, href = ''] of html.matchAll(/ (?:href|src)="([^"]+)"/g)) {
        if (href.startsWith('/') || /^https?:/.test(href)) continue
        count += 1
        const [file = '', anchor] = href.split('#', 2)
        const target = file === '' ? path : normalize(join(dirname(path), file))
        const isFound = anchor === undefined ? ids.has(target) || others.has(target) : ids.get(target)?.has(anchor)
        if (!isFound) broken.push(`${path}: ${href}`)
      }
    }
    assert.deepEqual(broken, [])
    assert.ok(count > 5000, `${count} links`)
  })

  test('an anchor names one element', () => {
    for (const [path, html] of site.pages) {
      const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
      assert.deepEqual(
        ids.filter((id, at) => ids.indexOf(id) !== at),
        [],
        path,
      )
    }
  })

  test('every page is in the sidebar, except endpoints and decisions, which have lists of their own', () => {
    const listed = new Set(sidebar.flatMap(({ entries }) => entries.map(([, source]) => source)))
    const expected = sourceFiles().filter((source) => !/^(endpoints|decisions)\/(?!README)/.test(source))
    assert.deepEqual([...listed].toSorted(), expected.toSorted())
    const start = site.pages.get('index.html') ?? ''
    for (const source of [...listed, ...Object.keys(allRoutes).map((id) => `endpoints/${id}.md`)])
      assert.ok(start.includes(`href="${pathOf(source)}"`), source)
  })

  test('the page of every endpoint has a form and samples for curl, TypeScript and Python', () => {
    for (const id of Object.keys(allRoutes)) {
      const html = site.pages.get(`endpoints/${id}.html`) ?? ''
      assert.ok(html.includes(`data-endpoint="${id}"`), id)
      const samples = /<div class="samples">(.*?)<\/div>\n<h2/s.exec(html)?.[1] ?? ''
      assert.deepEqual(
        [...samples.matchAll(/<span>(\w+)<\/span>/g)].map(([, name]) => name),
        ['curl', 'TypeScript', 'Python'],
        id,
      )
    }
  })

  test('pages contain nothing that the content security policy blocks', () => {
    for (const [path, html] of site.pages) {
      assert.doesNotMatch(html, /<script(?! src="[./]*site\.js"><\/script>)|<style|<[^>]+ (?:style|on\w+)=/, path)
    }
  })

  test('raw HTML in a source is shown as text', () => {
    const { html } = renderMarkdown('# A\n\nb <script>x</script> `<b>`\n\n<div onclick="x">y</div>', () => undefined)
    assert.doesNotMatch(html, /<(?!\/?(?:h1|p|code)\b)/)
    assert.match(html, /&lt;script&gt;x&lt;\/script&gt; <code class="short">&lt;b&gt;<\/code>/)
  })

  test('comments of shell, YAML and Python are marked, and nothing else', () => {
    const rendered = (language: string, code: string) =>
      /<code>(.*)<\/code>/s.exec(
        renderMarkdown(`# A\n\n\`\`\`${language}\n${code}\n\`\`\`\n`, () => undefined).html,
      )?.[1]
    assert.equal(rendered('sh', 'a --b  # c <d>\ne#f'), 'a --b  <span class="comment"># c &lt;d&gt;</span>\ne#f')
    assert.equal(rendered('yaml', '# a'), '<span class="comment"># a</span>')
    assert.equal(rendered('json', '"# a"'), '&quot;# a&quot;')
  })

  test('the start page has the only list of cards, which the style sheet finds by its heading', () => {
    const start = site.pages.get('index.html') ?? ''
    assert.match(start, /<body class="docs start">[\s\S]*<h2 id="choose-your-path">.*<\/h2>\n<ul>/)
    assert.match(readFileSync(join(import.meta.dirname, 'site.css'), 'utf8'), /\.start #choose-your-path \+ ul \{/)
    assert.doesNotMatch(site.pages.get('behaviour/index.html') ?? '', /class="docs start"/)
  })

  test('repeated headings get the anchors that GitHub gives them', () => {
    const { headings } = renderMarkdown('# A\n\n## Set `up`, now\n\n### B_c d\n\n## Set up now\n', () => undefined)
    assert.deepEqual(
      headings.map(({ anchor }) => anchor),
      ['a', 'set-up-now', 'b_c-d', 'set-up-now-1'],
    )
  })
})

describe('search', () => {
  const search = createSearch(site.searchIndex)
  const found = (query: string) => search(query).map(({ path, anchor }) => `${path}#${anchor}`)

  for (const [query, answer] of [
    ['rotate a key', 'commands.html#tetrad-keys-rotate'],
    ['rotating keys', 'commands.html#tetrad-keys-rotate'],
    ['rotate an API key', 'operations.html#api-keys'],
    ['hardhat', 'try.html#a-local-test-chain'],
    ['install', 'install.html#'],
    ['shell completion', 'install.html#shell-completion'],
    ['change the port', 'getting-started.html#settings'],
    ['rate limit 429', 'behaviour/http.html#rate-limits'],
    ['x-tetrad-coverage', 'markets.html#confidence-headers'],
    ['one state', 'beacon-nodes.html#the-first-state'],
    ['Permit2', 'fx.html#'],
    ['backup', 'operations.html#backup'],
    ['limit.second', 'errors.html#limitsecond'],
    ['fx.createquote', 'endpoints/fx.createQuote.html#'],
    ['rate lim', 'behaviour/http.html#rate-limits'],
    ['how is effectiveness computed', 'methodology.html#scores'],
    ['why is my address refused', 'errors.html#inputinvalid'],
    ['what happens when a node lies', 'security.html#beacon-nodes'],
    ['docker', 'operations.html#container'],
    ['market history', 'markets.html#history'],
    ['sign-in link', 'security.html#console-sign-in'],
  ] as const) {
    test(`"${query}" finds ${answer} among the first three results`, () => {
      const results = found(query)
      assert.ok(results.slice(0, 3).includes(answer), results.join('\n'))
    })
  }

  test('the name of each command finds its section among the first three results', async () => {
    for (const { path } of await listCommands()) {
      const results = found(path)
      assert.ok(results.slice(0, 3).includes(`commands.html#${path.replaceAll(' ', '-')}`), `${path}: ${results}`)
    }
  })

  test('no two results have the same text, and no excerpt begins with the titles of a table', () => {
    const texts = site.searchIndex.sections.map(({ heading, excerpt }) => `${heading}: ${excerpt}`)
    const onEndpoints = (text: string) => /^(?:Market|Event|Errors): /.test(text)
    assert.deepEqual(
      texts.filter((text, at) => onEndpoints(text) && texts.indexOf(text) !== at),
      [],
    )
    assert.deepEqual(
      texts.filter((text) => /: (?:you see cause|setting default|field type|code status)/.test(text)),
      [],
    )
  })

  test('a query without matches, or of stop words only, has no results', () => {
    assert.deepEqual([found('zzzzqqq'), found('how to'), found(''), found('---')], [[], [], [], []])
  })

  test('the index is small', () => {
    const bytes = gzipSync(JSON.stringify(site.searchIndex)).byteLength
    assert.ok(bytes < 130_000, `${bytes}`)
  })
})

test('the build does not delete a folder with other files', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-docs-'))
  await writeFile(join(dir, 'mine.txt'), 'mine')
  await assert.rejects(buildSite(dir, { isServed: false }), /contains other files/)
  await rm(dir, { recursive: true })
})
