// The code cites sections of docs/behaviour and pages of docs/decisions where it depends on them. Both must exist, and
// every decision must be listed in the index. Tables and files that the overviews and comments name must exist too.
import assert from 'node:assert/strict'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { anchorOf } from '../docs/site/markdown.ts'

const root = normalize(join(import.meta.dirname, '..'))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const namesIn = (folder: string) => readdirSync(join(root, folder)).filter((name) => name !== 'README.md')

const sections = new Set(
  namesIn('docs/behaviour').flatMap((page) =>
    [...read(`docs/behaviour/${page}`).matchAll(/^##+ (.+)$/gm)].map(
      ([, heading = '']) => `behaviour/${page}#${anchorOf(heading)}`,
    ),
  ),
)
const decisions = new Set(namesIn('docs/decisions').map((name) => `decisions/${name}`))

const files = globSync('{api,shared,server,cli,conformance,console,simulator,bench,test,docs}/**/*.{ts,tsx,js,md}', {
  cwd: root,
  exclude: ['api/dist/**', 'console/dist/**', 'test/citations.test.ts'],
})

test('every cited section and decision exists', () => {
  const missing = files.flatMap((file) =>
    [...read(file).matchAll(/(?:behaviour|decisions)\/[\w-]+\.md(?:#[\w-]+)?/g)]
      .map(([citation]) => citation)
      .filter((citation) => citation.startsWith('decisions/') || citation.includes('#'))
      .filter((citation) => !citation.startsWith('decisions/README') && !sections.has(citation))
      .filter((citation) => !decisions.has(citation))
      .map((citation) => `${file}: ${citation}`),
  )
  assert.deepEqual(missing, [])
})

test('the check finds citations', () => {
  assert.ok(sections.size > 100 && decisions.size > 20)
  assert.ok(sections.has('behaviour/fx.md#rounding'))
})

test('there are at most 41 decisions, each in the index with its title', () => {
  assert.ok(decisions.size <= 41, `${decisions.size}`)
  const index = read('docs/decisions/README.md')
  for (const name of namesIn('docs/decisions')) {
    const title = /^# (.+)$/m.exec(read(`docs/decisions/${name}`))?.[1]
    assert.ok(index.includes(`- [${title}](${name})`), name)
  }
})

test('the tables that ARCHITECTURE.md names exist', () => {
  const rows = [...read('ARCHITECTURE.md').matchAll(/^\| (`[a-z_…]+`(?:, `[a-z_…]+`)*) \|.*\|$/gm)]
  const tables = rows.flatMap(([, cell = '']) => cell.replaceAll(/[`…]/g, '').split(', '))
  const schema = globSync('server/storage/schema/*.ts', { cwd: root }).map(read).join()
  assert.ok(tables.includes('fundings') && tables.includes('duty_days'))
  const missing = tables.filter((table) => !new RegExp(`create table ${table}|'${table}'`).test(schema))
  assert.deepEqual(missing, [])
})

test('the source files that ARCHITECTURE.md and CONTRIBUTING.md name exist', () => {
  const named = ['ARCHITECTURE.md', 'CONTRIBUTING.md'].flatMap((page) =>
    [...read(page).matchAll(/`([\w./-]+\.tsx?)`/g)].map(([, path = '']) => path),
  )
  assert.ok(named.length > 40)
  const existing = [...files, 'test/citations.test.ts'].map((file) => `/${file}`)
  const missing = named.filter((path) => !existing.some((file) => file.endsWith(`/${path}`)))
  assert.deepEqual(missing, [])
})

test('the decision about locks lists every lock and every row lock that the code takes', () => {
  const decision = read('docs/decisions/lock-only-what-a-write-names.md')
  const type = /^export type LockName = (.+)$/m.exec(read('server/storage/state.ts'))?.[1] ?? ''
  const locks = Array.from(type.matchAll(/['`](\w+(?=[:'`]))/g), ([, name]) => name)
  const listed = Array.from(decision.matchAll(/^\| `(\w+)(?::<id>)?` \|/gm), ([, name]) => name)
  assert.ok(locks.includes('chain') && locks.includes('markets'))
  assert.deepEqual(listed.slice(0, locks.length).sort(), locks.sort())
  const sources = globSync('server/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'))
  const code = sources
    .map(read)
    .join()
    .replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '')
  const clauses = code.matchAll(/\bfor (?:no key |key )?(?:update|share)\b(?: skip locked| nowait)?/g)
  const rowLocks = new Set(Array.from(clauses, ([clause]) => clause))
  assert.ok(rowLocks.has('for share'))
  assert.deepEqual(
    [...rowLocks].filter((clause) => !decision.includes(`\`${clause}\``)),
    [],
  )
})

test('the files that comments name exist', () => {
  // Files of clients, from which their answers were taken.
  const otherProjects = new Set(['test/simulator/profiles.ts'])
  const existing = [...files, 'test/citations.test.ts'].map((file) => `/${file}`)
  const named = files
    .filter((file) => !file.endsWith('.md') && !otherProjects.has(file))
    .flatMap((file) => commentsOf(read(file)).flatMap((comment) => pathsIn(comment).map((path) => ({ file, path }))))
  assert.ok(named.length > 200)
  const missing = named.filter(({ file, path }) =>
    path.startsWith('.')
      ? !existing.includes(`/${join(dirname(file), path)}`)
      : !existing.some((known) => known.endsWith(`/${path}`)),
  )
  assert.deepEqual(missing, [])
})

/** Lines that are comments. */
const commentsOf = (source: string): string[] => source.split('\n').filter((line) => /^\s*(?:\/\/|\/?\*)/.test(line))

/** Paths that are relative to the file begin with `./` or `../`. Others are the end of a path. `x.ts` is an example. */
const pathsIn = (comment: string): string[] =>
  [...comment.matchAll(/(?<![\w/.#-])(?:\.\.?\/)*[\w][\w./-]*\.tsx?\b/g)]
    .map(([path]) => path)
    .filter((path) => !/\bx\.ts$/.test(path))

test('tables of the documentation have no empty line between their rows', () => {
  const pages = [...globSync('docs/**/*.md', { cwd: root }), 'README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md']
  const broken = pages.flatMap((page) => {
    const lines = read(page).split('\n')
    return lines.flatMap((line, at) => {
      const begins = line.trimStart().startsWith('|') && !lines[at - 1]?.trimStart().startsWith('|')
      return begins && !/^\s*\|[ :|-]+\|$/.test(lines[at + 1] ?? '') ? [`${page}:${at + 1}`] : []
    })
  })
  assert.deepEqual(broken, [])
})
