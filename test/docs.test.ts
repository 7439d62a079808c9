// Documentation and code must agree: generated pages, error codes, settings.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { contract } from '#api/contract/contract.ts'
import { extensions } from '#api/contract/extensions.ts'
import { failuresOf } from '#api/contract/failures.ts'
import { type FaultCode, faults } from '#api/contract/faults.ts'
import type { Endpoint } from '#api/contract/kit.ts'
import { allRoutes } from '#api/contract/routes.ts'
import { generatedPages } from '../docs/build.ts'

const root = new URL('../', import.meta.url)
const docs = new URL('docs/', root)
const read = (path: string) => readFile(new URL(path, docs), 'utf8')

const pages = await generatedPages()

describe('generated pages', () => {
  for (const [path, text] of Object.entries(pages)) {
    test(`docs/${path} is up to date; npm run docs writes it`, async () => {
      assert.equal(await read(path), text)
    })
  }

  test('the page of every endpoint names the file of its handler', () => {
    for (const [path, text] of Object.entries(pages)) {
      if (path.startsWith('endpoints/') && path !== 'endpoints/README.md')
        assert.match(text, /Handler \| `server\/.+\.ts`/)
    }
  })

  test('docs/endpoints contains no page of a removed endpoint', async () => {
    const names = await readdir(new URL('endpoints/', docs))
    assert.deepEqual(
      names.filter((name) => !(`endpoints/${name}` in pages)),
      [],
    )
  })
})

test('lines wrap at 100 columns, except tables, code and a link that is longer', () => {
  const pages = globSync(['*.md', '{api,docs,test}/**/*.md'], { cwd: root, exclude: ['api/dist/**'] })
  const tooLong = pages.flatMap((page) => {
    const text = readFileSync(new URL(page, root), 'utf8').replaceAll(/^ *```[\s\S]*?^ *```/gm, '')
    const lines = text.split('\n').filter((line) => line.length > 100 && !/^ *\||^- \[[^\]]+\]\([^)]+\)$/.test(line))
    return lines.map((line) => `${page}: ${line}`)
  })
  assert.ok(pages.length > 100, `${pages.length} pages`)
  assert.deepEqual(tooLong, [])
})

// The console of the package is built from these folders, and fails at a link to a missing file.
test('the container image is built from every folder that pages link to', async () => {
  const lines = (await read('../ops/Dockerfile.dockerignore')).split('\n')
  const included = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
  const linked = globSync('**/*.md', { cwd: docs }).flatMap((page) =>
    [...readFileSync(new URL(page, docs), 'utf8').matchAll(/\]\((\.\.\/[^)#]+)/g)].map(([, href = '']) =>
      new URL(href, new URL(page, docs)).href.slice(root.href.length),
    ),
  )
  const missing = linked.filter((path) => !included.includes(path.split('/')[0] as string) && !/^[^/]+\.md$/.test(path))
  assert.ok(linked.some((path) => path.startsWith('examples/')))
  assert.deepEqual(missing, [])
})

test('a status next to an error code is the one that endpoints return, of every group that can raise it', () => {
  const statuses = new Map<string, Set<number>>()
  for (const endpoint of [...Object.values<Endpoint>(contract), ...Object.values<Endpoint>(extensions)])
    for (const { code, status } of failuresOf(endpoint))
      statuses.getOrInsertComputed(code, () => new Set<number>()).add(status)
  const wrong: string[] = []
  let count = 0
  // The endpoint pages are generated, one group each.
  for (const page of globSync(['*.md', 'docs/*.md', 'docs/{behaviour,decisions}/*.md'], { cwd: root })) {
    // Table rows, list items and paragraphs, each in one line.
    const text = readFileSync(new URL(page, root), 'utf8').replaceAll(/\n {2,}(?! *[-|#`])/g, ' ')
    for (const line of text.split(/\n(?=[-|#\n])|\n\n/))
      for (const [, status, code = ''] of line.matchAll(/\b([1-5]\d\d) `([a-z]+\.[a-z_]+)`/g)) {
        count += 1
        const expected = [...(statuses.get(code) ?? [Number(status)])]
        if (!expected.includes(Number(status)) || !expected.every((each) => line.includes(String(each))))
          wrong.push(`${page}: ${status} \`${code}\`, but endpoints return ${expected.join(' and ')}`)
      }
  }
  assert.ok(count > 10, String(count))
  assert.deepEqual(wrong, [])
})

describe('docs/errors.md', async () => {
  const text = await read('errors.md')
  const sections = new Map(
    text
      .split(/^### /m)
      .slice(1)
      .map((section) => [section.slice(0, section.indexOf('\n')), section]),
  )

  test('every error code has a section with its status and when to retry', () => {
    for (const [code, { status, retry }] of Object.entries(faults)) {
      const section = sections.get(code)
      assert.ok(section, `${code} has no section`)
      assert.ok(section.includes(`\nStatus ${status} · try again: ${retry}.\n`), `${code}: ${status}, ${retry}`)
      assert.ok(section.length > 100, `${code} is not explained`)
    }
  })

  test('every section is about an error code', () => {
    assert.deepEqual(
      [...sections.keys()].filter((code) => !(code in faults)),
      [],
    )
    assert.equal(sections.size, text.match(/^### /gm)?.length)
  })

  test('every link from an endpoint page leads to the section of its error code', () => {
    const anchors = new Set([...sections.keys()].map((code) => code.replaceAll('.', '')))
    for (const page of Object.values(pages)) {
      for (const [, code = '', anchor = ''] of page.matchAll(/\[([\w.]+)\]\(\.\.\/errors\.md#(\w+)\)/g)) {
        assert.ok((code as FaultCode) in faults && anchors.has(anchor), `${code} #${anchor}`)
      }
    }
  })
})

test('pages mention only existing settings', async () => {
  const settings = await read('configuration.md')
  const roots = ['server', 'groups', 'keys', 'explorer', 'fx', 'validators', 'markets', 'plans', 'log', 'aliases']
  const pattern = new RegExp(`\`((?:${roots.join('|')})\\.[a-zA-Z.<>]+)\``, 'g')
  const others = new Set<string>([...Object.keys(faults), ...Object.keys(allRoutes)])
  for (const path of ['errors.md', 'client.md', ...Object.keys(pages).filter((name) => name.endsWith('.md'))]) {
    for (const [, name = ''] of (await read(path)).matchAll(pattern)) {
      if (others.has(name)) continue
      const known = settings.includes(
        name.replace(/^groups\.<\w+>/, 'groups.explorer').replace('plans.<plan>', 'plans.free'),
      )
      assert.ok(known, `${path}: ${name}`)
    }
  }
})
