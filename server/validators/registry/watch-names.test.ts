// Names from a watch file (behaviour/validators.md#watch-lists).
import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { openContext } from '#test/context.ts'
import { readWatchNames } from './watch-names.ts'

const key = `0x${'Ab'.repeat(48)}`
const address = `0x${'cd'.repeat(20)}`

test('a watch file adds its names, is read again when it changes, and keeps its last valid version', async () => {
  await using plain = await openContext()
  const path = join(plain.dir, 'watch.txt')
  await using context = await openContext({
    validators: { networks: { hoodi: { watch: ['7'], watchFile: path }, mainnet: { watch: ['3'] } } },
  })
  const read = () => readWatchNames(context, 'hoodi')
  assert.deepEqual(await read(), { names: ['7'], problem: `${path} does not exist`, isComplete: false })
  await writeFile(path, `\uFEFF# operators\r\n12 # first\r\n\r\n  ${key}\r\n${address}#\n`)
  const first = await read()
  assert.deepEqual(first, { names: ['7', '12', key, address], problem: undefined, isComplete: true })
  await writeFile(path, `12\n${key}\n${address}\n# the same names\n`)
  assert.equal((await read()).names, first.names)
  const invalid: readonly [text: string, problem: string][] = [
    ['12\n13\n0x12\n', `${path}, line 3: "0x12" is not an index, public key or withdrawal address`],
    ['12, 13', `${path}, line 1: "12, 13" is not an index, public key or withdrawal address`],
    [`1${'2'.repeat(99)}`, `${path}, line 1: "1${'2'.repeat(59)}…" is not an index, public key or withdrawal address`],
    ['# nothing\n', `${path} contains no validator; add one per line`],
    ['1\n'.repeat(100_001), `${path} has more than 100000 validators`],
  ]
  for (const [text, problem] of invalid) {
    await writeFile(path, text)
    assert.deepEqual(await read(), { names: first.names, problem, isComplete: true })
  }
  await rm(path)
  assert.deepEqual(await read(), { names: first.names, problem: `${path} does not exist`, isComplete: true })
  await writeFile(path, '13')
  assert.deepEqual(await read(), { names: ['7', '13'], problem: undefined, isComplete: true })
  assert.deepEqual((await readWatchNames(context, 'mainnet')).names, ['3'])
})
