import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readTextFile } from './read-text-file.ts'

test('reads a text file; errors for missing, too large, non-text and non-regular files have the path', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-file-'))
  try {
    const path = join(dir, 'rates.json')
    await writeFile(path, 'ünï ☃')
    assert.equal(await readTextFile(path, 9), 'ünï ☃')
    await assert.rejects(readTextFile(path, 8), /rates\.json has more than 8 bytes/)
    await writeFile(path, Uint8Array.of(0xff, 0xfe))
    await assert.rejects(readTextFile(path, 100), /rates\.json is not UTF-8/)
    await assert.rejects(readTextFile(join(dir, 'gone'), 100), /gone does not exist/)
    await assert.rejects(readTextFile(dir, 100), /is not a file/)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
})
