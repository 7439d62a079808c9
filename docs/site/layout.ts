// The HTML around the content of every page: head, header with search, sidebar, and the list of sections.
import { allRoutes, groups } from '#api/contract/routes.ts'
import { escapeHtml } from './escape-html.ts'
import type { Heading } from './markdown.ts'
import { pathOf, relativeLink, sidebar } from './site-map.ts'

export interface LayoutInput {
  /** Relative to the root of the site. */
  readonly path: string
  readonly title: string
  readonly description: string
  readonly html: string
  readonly headings: readonly Heading[]
  /** Delivered by a Tetrad server, which has the console at `/`. */
  readonly isServed: boolean
  /** Where links begin, such as `/docs/`. Default: they are relative to the page. */
  readonly linkBase?: string
}

export function renderLayout(input: LayoutInput): string {
  const { path, title, description, html, headings, isServed, linkBase } = input
  const link: Link = (to) => (linkBase === undefined ? relativeLink(path, to) : `${linkBase}${to}`)
  const fullTitle = path === 'index.html' ? 'Tetrad documentation' : `${title} · Tetrad documentation`
  return `<!doctype html>
<html lang="en"${isServed ? ' data-served' : ''}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${escapeHtml(description)}">
<title>${escapeHtml(fullTitle)}</title>
<link rel="icon" href="${link('favicon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${link('site.css')}">
<script src="${link('site.js')}"></script>
</head>
<body class="docs${path === 'index.html' ? ' start' : ''}">
<a class="skip" href="#docs-content">Skip to content</a>
<header class="docs-head">
<a class="brand" href="${link('index.html')}"><img src="${link('favicon.svg')}" alt="">Tetrad docs</a>
<button type="button" class="js-only menu-button" aria-expanded="false" aria-controls="docs-menu">Menu</button>
<div class="search-box js-only" role="search">
<input id="docs-search" type="search" role="combobox" aria-label="Search the documentation" aria-expanded="false" aria-controls="docs-search-results" aria-autocomplete="list" autocomplete="off" spellcheck="false" placeholder="Search (press /)">
<div id="docs-search-results" role="listbox" aria-label="Search results" hidden></div>
<p id="docs-search-status" role="status" class="unseen"></p>
</div>
${isServed ? '<a class="console-link" href="/">Console</a>\n' : ''}<label class="theme js-only">Theme <select id="docs-theme"><option>system</option><option>light</option><option>dark</option></select></label>
</header>
<div class="docs-body">
<nav id="docs-menu" class="docs-side" aria-label="Documentation">
${renderSidebar(path, link)}</nav>
<main id="docs-content" class="doc" tabindex="-1">
${html}</main>
${renderSections(headings)}</div>
</body>
</html>
`
}

/** The address of a page, by its path in the site. */
type Link = (to: string) => string

function renderSidebar(path: string, link: Link): string {
  const current = path.startsWith('decisions/') ? 'decisions/index.html' : path
  const item = (label: string, to: string) =>
    `<li><a href="${link(to)}"${to === current ? ' aria-current="page"' : ''}>${escapeHtml(label)}</a></li>\n`
  const endpoints = groups
    .map((group) => {
      const ids = Object.keys(allRoutes).filter((id) => id.startsWith(`${group}.`))
      const isOpen = path.startsWith(`endpoints/${group}.`)
      const items = ids.map((id) => item(id, `endpoints/${id}.html`)).join('')
      return `<li><details${isOpen ? ' open' : ''}><summary>${group}</summary><ul>\n${items}</ul></details></li>\n`
    })
    .join('')
  return sidebar
    .map(({ title, entries }) => {
      const items = entries.map(([label, source]) => item(label, pathOf(source))).join('')
      return `<h2>${title}</h2>\n<ul>\n${items}${title === 'Reference' ? endpoints : ''}</ul>\n`
    })
    .join('')
}

function renderSections(headings: readonly Heading[]): string {
  const listed = headings.filter(({ depth }) => depth === 2)
  if (listed.length < 2) return ''
  const items = listed.map(({ anchor, text }) => `<li><a href="#${anchor}">${escapeHtml(text)}</a></li>\n`).join('')
  return `<nav class="docs-sections" aria-label="On this page">\n<h2>On this page</h2>\n<ul>\n${items}</ul>\n</nav>\n`
}
