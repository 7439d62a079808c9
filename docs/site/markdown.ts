// Renders a page of the documentation: HTML, its headings, and its sections as plain text for the search. Raw HTML in a
// source is shown as text. Anchors are those of GitHub, because code and other pages cite them.
import { Marked, type Token, type Tokens } from 'marked'
import { escapeHtml } from './escape-html.ts'

export interface Heading {
  readonly depth: number
  readonly text: string
  readonly anchor: string
}

export type RenderedPage = ReturnType<typeof renderMarkdown>
export type SectionText = RenderedPage['sections'][number]

/** The anchor that GitHub gives a heading. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/** `resolveLink` returns the address of a link, or undefined to show its text only. */
export function renderMarkdown(source: string, resolveLink: (href: string) => string | undefined) {
  const headings = new Map<Token, Heading>()
  const marked = new Marked({
    renderer: {
      heading(token) {
        const { depth } = token
        const heading = headings.get(token)
        const content = this.parser.parseInline(token.tokens)
        if (!heading || depth === 1) return `<h${depth}>${content}</h${depth}>\n`
        const link = `<a class="anchor" href="#${heading.anchor}" aria-hidden="true" tabindex="-1">#</a>`
        return `<h${depth} id="${heading.anchor}">${content}${link}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const content = this.parser.parseInline(tokens)
        const target = resolveLink(href)
        return target === undefined ? content : `<a href="${escapeHtml(target)}">${content}</a>`
      },
      codespan: ({ text }) => `<code${text.length <= shortCodeMax ? ' class="short"' : ''}>${escapeHtml(text)}</code>`,
      image: ({ text }) => escapeHtml(text),
      html: ({ text }) => escapeHtml(text),
      code: ({ text, lang = '' }) => codeBlock(lang, text),
      table({ header, rows }) {
        const isWide = header.length > narrowColumnsMax
        const cell = ({ tokens, text }: Tokens.TableCell, column: number) => {
          const content = this.parser.parseInline(tokens)
          if (!isWide) return `<td>${content}</td>`
          const name = escapeHtml(plainText(header[column]?.text ?? ''))
          return `<td role="cell" data-label="${name}"${text === '' ? ' class="empty"' : ''}>${content}</td>`
        }
        const role = (name: string) => (isWide ? ` role="${name}"` : '')
        const titles = header
          .map(({ tokens }) => `<th${role('columnheader')}>${this.parser.parseInline(tokens)}</th>`)
          .join('')
        const hasTitles = header.some(({ text }) => text !== '')
        const head = hasTitles ? `<thead${role('rowgroup')}><tr${role('row')}>${titles}</tr></thead>\n` : ''
        const body = rows.map((cells) => `<tr${role('row')}>${cells.map(cell).join('')}</tr>\n`).join('')
        const table = `<table${isWide ? ' class="wide stacked" role="table"' : ''}>${head}<tbody${role('rowgroup')}>${body}</tbody></table>`
        return `<div class="scroll" tabindex="0">${table}</div>\n`
      },
    },
  })
  const tokens = marked.lexer(source).filter(({ type }) => type !== 'space')
  addHeadings(tokens, headings)
  const list = [...headings.values()]
  return {
    title: list[0]?.text ?? '',
    html: groupSamples(tokens)
      .map((group) => (group.length === 1 ? marked.parser(group) : sampleGroup(group as Tokens.Code[])))
      .join(''),
    headings: list,
    sections: sectionsOf(tokens, headings),
  }
}

function addHeadings(tokens: readonly Token[], headings: Map<Token, Heading>): void {
  const used = new Map<string, number>()
  for (const token of tokens) {
    if (token.type !== 'heading') continue
    const text = plainText(token.text)
    const anchor = anchorOf(text)
    const count = used.get(anchor) ?? 0
    used.set(anchor, count + 1)
    headings.set(token, { depth: token.depth, text, anchor: count === 0 ? anchor : `${anchor}-${count}` })
  }
}

/** Request samples, in the order in which pages have them. */
const sampleNames: readonly (readonly [language: string, name: string])[] = [
  ['sh', 'curl'],
  ['ts', 'TypeScript'],
  ['python', 'Python'],
]

/** A curl, a TypeScript and a Python sample that follow each other form one group. Any other token is alone. */
function groupSamples(tokens: readonly Token[]): Token[][] {
  const groups: Token[][] = []
  for (let at = 0; at < tokens.length; at += groups.at(-1)?.length ?? 1) {
    const next = tokens.slice(at, at + sampleNames.length)
    const isGroup = sampleNames.every(([language], i) => next[i]?.type === 'code' && next[i].lang === language)
    groups.push(isGroup ? next : next.slice(0, 1))
  }
  return groups
}

/** The browser shows the blocks of a group as tabs. */
const sampleGroup = (blocks: readonly Tokens.Code[]): string =>
  `<div class="samples">\n${blocks.map(({ lang = '', text }, at) => codeBlock(lang, text, sampleNames[at]?.[1])).join('')}</div>\n`

/** Tables with more columns are shown row by row on small screens. Their roles keep them tables for screen readers. */
const narrowColumnsMax = 3
/** Shorter code does not break in the middle of a word in a table. */
const shortCodeMax = 36

const languageNames: Readonly<Record<string, string>> = {
  sh: 'Shell',
  ts: 'TypeScript',
  python: 'Python',
  json: 'JSON',
  yaml: 'YAML',
  sql: 'SQL',
  csv: 'CSV',
  '': 'Text',
}

function codeBlock(language: string, text: string, name = languageNames[language] ?? language): string {
  return `<div class="code" data-language="${escapeHtml(language)}">
<div class="code-bar"><span>${escapeHtml(name)}</span><button type="button" class="plain copy js-only">Copy</button></div>
<pre tabindex="0"><code>${withComments(language, escapeHtml(text))}</code></pre>
</div>
`
}

/** Marks comments, so that they look different from what one types. */
const withComments = (language: string, html: string): string =>
  ['sh', 'yaml', 'python'].includes(language)
    ? html.replaceAll(/(?<=^|\s)# .*$/gm, (comment) => `<span class="comment">${comment}</span>`)
    : html

/** `summary` is the first paragraph, or the first row of a table. */
function sectionsOf(tokens: readonly Token[], headings: ReadonlyMap<Token, Heading>) {
  const sections: { heading: Heading; text: string; summary: string }[] = []
  for (const token of tokens) {
    const heading = headings.get(token)
    if (heading) sections.push({ heading, text: '', summary: '' })
    const section = sections.at(-1)
    // Example replies repeat the field names of the tables.
    if (heading || !section || (token.type === 'code' && token.lang === 'json')) continue
    // The titles of columns are the same in most tables, so they help nobody to find one.
    const rows = token.type === 'table' ? rowTexts(token as Tokens.Table) : undefined
    section.text += `${rows?.join(' ') ?? plainText(token.raw)} `
    if (token.type === 'paragraph') section.summary ||= plainText(token.raw)
    if (rows) section.summary ||= rows[0] ?? ''
  }
  return sections
}

const rowTexts = ({ rows }: Tokens.Table): string[] =>
  rows.map((cells) => cells.map(({ text }) => plainText(text)).join(' · '))

const plainText = (markdown: string): string =>
  markdown
    .replaceAll(/^\s*```.*$/gm, '')
    .replaceAll(/\]\([^)]*\)/g, '')
    .replaceAll(/\|(?:\s*-{3,}\s*\|)+/g, ' ')
    .replaceAll(/\*\*|[`|[\]]|^#+ |^\s*[-*] /gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ([.,;:!?)])/g, '$1')
    .trim()
