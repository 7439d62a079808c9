import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { openFolder, runCommand } from '#test/run-command.ts'

test('the document names the given URL, else the public URL, else the configured address', async () => {
  await using folder = await openFolder()
  const serversWith = async (settings: object, ...args: string[]) => {
    await writeFile(join(folder.dir, 'tetrad.yaml'), JSON.stringify({ server: settings }))
    const { code, stdout, stderr } = await runCommand(['openapi', ...args], { cwd: folder.dir })
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout).servers
  }
  const publicUrl = 'https://data.example'
  assert.deepEqual(await serversWith({ publicUrl }, '--url', 'https://other.example'), [
    { url: 'https://other.example' },
  ])
  assert.deepEqual(await serversWith({ publicUrl }), [{ url: publicUrl }])
  assert.deepEqual(await serversWith({ port: 9000 }), [{ url: 'http://127.0.0.1:9000' }])
})
