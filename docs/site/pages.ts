// Renders all pages of the documentation site and its search index, from the Markdown files in docs/.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { allEndpoints } from '#api/contract/extensions.ts'
import type { AnyId } from '#api/contract/routes.ts'
import { buildIndex, type PageKind, type SearchIndex } from '../../console/shared/text-search.ts'
import { renderLayout } from './layout.ts'
import { type RenderedPage, renderMarkdown, type SectionText } from './markdown.ts'
import { exampleServer, pathOf, relativeLink } from './site-map.ts'
import { renderTryItForm, tryItAnchor } from './try-it-form.ts'

const docs = join(import.meta.dirname, '..')

/** Source files, relative to docs/. */
export const sourceFiles = (): string[] => [...globSync('{*,*/*}.md', { cwd: docs }).toSorted(), '../CHANGELOG.md']

export function renderSite({ isServed }: { readonly isServed: boolean }) {
  const sources = sourceFiles()
  const known = new Set(sources)
  /** Files of the repository that pages link to, by their path in the site. */
  const files = new Map<string, string>()
  const rendered = sources.map((source) => {
    const text = readFileSync(join(docs, source), 'utf8')
    return {
      source,
      path: pathOf(source),
      ...renderMarkdown(text, (href) => resolveLink(source, href, { known, files, isServed })),
    }
  })
  /** HTML by path, relative to the root of the site. */
  const pages = new Map(
    rendered.map((page) => [
      page.path,
      renderLayout({
        ...page,
        ...addTryItForm(page),
        description: excerptOf(page.sections[0]),
        isServed,
      }),
    ]),
  )
  return { pages, notFoundPage: renderNotFoundPage(isServed), files, searchIndex: indexOf(rendered) }
}

/** A server sends it for addresses of any depth, so its links are absolute. */
function renderNotFoundPage(isServed: boolean): string {
  const base = isServed ? '/docs/' : ''
  return renderLayout({
    path: '404.html',
    title: 'Page not found',
    description: 'The documentation has no page at this address.',
    html: `<h1>Page not found</h1>
<p>The documentation has no page at this address. Search for a word, choose a page from the menu, or go to the <a href="${base}index.html">start page</a>.</p>
`,
    headings: [],
    isServed,
    ...(isServed && { linkBase: base }),
  })
}

interface LinkTargets {
  readonly known: ReadonlySet<string>
  readonly files: Map<string, string>
  readonly isServed: boolean
}

/** The address that a page of the site uses for a link in its source. */
function resolveLink(source: string, href: string, { known, files, isServed }: LinkTargets): string {
  if (isServed && href.startsWith(`${exampleServer}/`)) return href.slice(exampleServer.length)
  if (/^https?:/.test(href)) return href
  const [path = '', fragment] = href.split('#', 2)
  const anchor = fragment === undefined ? '' : `#${fragment}`
  if (path === '') return anchor
  const target = normalize(join(dirname(source), path))
  if (known.has(target)) return `${relativeLink(pathOf(source), pathOf(target))}${anchor}`
  if (!existsSync(join(docs, target))) throw new Error(`docs/${source} links to ${href}, which does not exist.`)
  const copy = `files/${target.replace(/^(\.\.\/)+/, '').replaceAll('/', '-')}`
  files.set(copy, join(docs, target))
  return relativeLink(pathOf(source), copy)
}

/** Puts the form before the samples of the page of an endpoint. */
function addTryItForm({
  path,
  html,
  headings,
}: RenderedPage & { readonly path: string }): Pick<RenderedPage, 'html' | 'headings'> {
  const endpoint = allEndpoints[/^endpoints\/(.+)\.html$/.exec(path)?.[1] as AnyId]
  const at = headings.findIndex(({ anchor }) => anchor === 'example')
  if (!endpoint || at < 0) return { html, headings }
  return {
    html: html.replace('<h2 id="example">', (heading) => `${renderTryItForm(endpoint)}${heading}`),
    headings: headings.toSpliced(at, 0, { depth: 2, text: 'Try it', anchor: tryItAnchor }),
  }
}

const kinds: Readonly<Record<string, PageKind>> = {
  endpoints: 'reference',
  behaviour: 'behaviour',
  decisions: 'decision',
}

const kindOf = (path: string): PageKind => {
  // Lists of all settings and all commands: their words are the subjects of guides.
  if (path === 'configuration.html' || path === 'commands.html') return 'reference'
  return basename(path) === 'index.html' ? 'list' : (kinds[dirname(path)] ?? 'guide')
}

/** The errors of an endpoint are those of errors.md, and the same record occurs on several pages. */
const isRepeated = (path: string, anchor: string): boolean => path.startsWith('endpoints/') && anchor === 'errors'

/** Without sections whose content an earlier page has: they would fill the results with equal lines. */
function indexOf(rendered: readonly (RenderedPage & { readonly path: string })[]): SearchIndex {
  const pages = rendered.map(({ path, title }) => ({ path, title, kind: kindOf(path) }))
  const seen = new Set<string>()
  const sections = rendered.flatMap((page, at) =>
    page.sections.flatMap(({ heading, text, summary }) => {
      const content = `${heading.text}\n${text}`
      if (isRepeated(page.path, heading.anchor) || seen.has(content)) return []
      seen.add(content)
      return [
        {
          page: at,
          heading: heading.text,
          text,
          excerpt: excerptOf({ text, summary }),
          anchor: heading.depth === 1 ? '' : heading.anchor,
        },
      ]
    }),
  )
  return buildIndex(pages, sections)
}

const excerptMax = 110

function excerptOf({ summary, text: all }: Pick<SectionText, 'summary' | 'text'> = { summary: '', text: '' }): string {
  const text = summary || all.trim()
  if (text.length <= excerptMax) return text
  return `${text.slice(0, text.lastIndexOf(' ', excerptMax))} …`
}
