// `tetrad import entities`.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { openIngest } from '#storage/open.ts'
import { openFolder, runCommand } from '#test/run-command.ts'
import { putValidators, readValidator } from '#validators/registry/registry.ts'

test('imports the entities of a file, writes invalid records to the file of rejects, and explains an entity', async () => {
  await using folder = await openFolder()
  const data = join(folder.dir, 'data')
  const state = await openIngest(data)
  const empty = { activationEligibilityEpoch: null, activationEpoch: null, exitEpoch: null, withdrawableEpoch: null }
  await putValidators(state, 'hoodi', [{ index: 7, pubkey: `0x${'7'.repeat(96)}`, ...empty, withdrawalAddress: null }])
  await writeFile(join(folder.dir, 'pools.csv'), 'index,pool\n7,Harbour\n8,Later\nx,Nobody\n')
  const args = ['import', 'entities', 'pools.csv', '--network', 'hoodi', '--json']
  const { code, stdout, stderr } = await runCommand(args, { cwd: folder.dir })
  assert.equal(code, 3, stderr)
  assert.deepEqual(JSON.parse(stdout), { records: 3, rules: 2, changed: 1, unmatched: 1, rejected: 1 })
  assert.equal((await readValidator(state, 'hoodi', 7))?.entity?.pool, 'Harbour')
  await state.close()
  const rejects = await readFile(join(folder.dir, 'entities.rejects.ndjson'), 'utf8')
  assert.equal(JSON.parse(rejects).reason, 'index is invalid')
  const shown = await runCommand(['validators', 'entity', '7', '--network', 'hoodi'], { cwd: folder.dir })
  assert.match(shown.stdout, /Pool: Harbour, since day 0, by a rule of pools\.csv \(index\)/)
  assert.match(shown.stdout, /rule of pools\.csv: index 7: pool Harbour, decides pool/)
  const unknown = await runCommand(['validators', 'entity', '9', '--network', 'hoodi'], { cwd: folder.dir })
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /Validator 9 does not exist on hoodi/)
})

test('the error about a file that cannot be read names the file', async () => {
  await using folder = await openFolder()
  const missing = await runCommand(['import', 'entities', 'none.csv'], { cwd: folder.dir })
  assert.deepEqual([missing.code, /File none\.csv does not exist/.test(missing.stderr)], [1, true])
  await writeFile(join(folder.dir, 'odd.csv'), 'index,color\n1,red\n')
  const odd = await runCommand(['import', 'entities', 'odd.csv'], { cwd: folder.dir })
  assert.match(odd.stderr, /odd\.csv: unknown columns: color/)
})
