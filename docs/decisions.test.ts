import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { decisionsPage, subjects } from './decisions.ts'

const files = readdirSync(join(import.meta.dirname, 'decisions')).filter((name) => /^\d/.test(name))

test('every decision is listed once, by number within its subject, with its title', () => {
  const page = decisionsPage()
  const linked = [...page.matchAll(/^- \[\d{4}\]\((\S+)\) \S/gm)].map(([, file]) => file)
  assert.ok(files.length > 100)
  assert.deepEqual(linked.toSorted(), files.toSorted())
  for (const section of page.split('\n## ').slice(1)) {
    const numbers = [...section.matchAll(/^- \[(\d{4})\]/gm)].map(([, number]) => Number(number))
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => a - b),
    )
  }
  assert.match(
    page,
    /\n## Several servers\n\n- \[0140\]\(0140-limits-of-several-processes\.md\) Limits of several processes\n/,
  )
})

test('no number has two pages or two subjects', () => {
  const numbers = files.map((file) => file.slice(0, 4))
  assert.equal(new Set(numbers).size, numbers.length)
  const runs = Object.values(subjects)
    .flat()
    .toSorted(([a], [b]) => a - b)
  for (const [at, [first, last]] of runs.entries()) {
    assert.ok(first <= last && first > (runs[at - 1]?.[1] ?? 0), `${first}–${last}`)
  }
})

test('a page that no subject claims is listed at the end', () => {
  const page = decisionsPage([{ file: '9999-new.md', number: 9999, title: 'Something new' }])
  assert.ok(page.endsWith('\n\n## Others\n\n- [9999](9999-new.md) Something new\n'), page)
})
