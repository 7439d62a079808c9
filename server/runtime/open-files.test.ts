import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { open } from 'node:fs/promises'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { openFilesReader } from './open-files.ts'

const skip = process.platform !== 'linux' && 'needs /proc'

test('counts open files', { skip }, async () => {
  const read = await openFilesReader()
  assert.ok(read)
  const before = await read()
  const files = await Promise.all(Array.from({ length: 100 }, () => open(import.meta.filename)))
  const after = await read()
  // Other tests of this process open and close files too.
  assert.ok(after.open >= before.open + 50 && after.open <= after.max, JSON.stringify({ before, after }))
  for (const file of files) await file.close()
})

test('a process without free descriptors has as many open files as it may', { skip }, async () => {
  const script = `
    import { openSync } from 'node:fs'
    const { openFilesReader } = await import(${JSON.stringify(import.meta.resolve('./open-files.ts'))})
    const read = await openFilesReader()
    try { for (;;) openSync('/dev/null') } catch {}
    process.stdout.write(JSON.stringify(await read()))`
  const command = `ulimit -n 128 && exec "$0" --input-type=module -e "$1"`
  const { stdout } = await promisify(execFile)('sh', ['-c', command, process.execPath, script])
  assert.deepEqual(JSON.parse(stdout), { open: 128, max: 128 })
})
