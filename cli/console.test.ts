import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { openLog } from '#runtime/log.ts'
import { startServer } from '#server/app.ts'
import { openState } from '#storage/open.ts'
import { settingsWith } from '#test/context.ts'
import { openFolder, runCommand } from '#test/run-command.ts'

test('a link signs in once, and sign-out ends the session', async () => {
  await using home = await openFolder()
  await writeFile(join(home.dir, 'tetrad.yaml'), 'server: { host: 0.0.0.0, port: 9000 }\n')
  const lines: string[] = []
  const server = await startServer({
    settings: settingsWith({ server: { port: 0 } }),
    dataDir: join(home.dir, 'data'),
    log: openLog('debug', (line) => lines.push(line)),
  })
  try {
    const made = await runCommand(['console', 'link', '--json'], { cwd: home.dir })
    assert.equal(made.code, 0)
    const { url } = JSON.parse(made.stdout) as { url: string }
    // The address it listens on, not the configured one.
    const [base, token = ''] = url.split('/#/sign-in/')
    assert.equal(base, server.url)
    // `ask` finds the same server.
    const asked = await runCommand(['ask', 'markets.bySlug', '--slug', 'none'], { cwd: home.dir })
    assert.match(asked.stderr, /slug not found/)
    assert.match(token, /^link_[\w-]{22}$/)
    const headers = { origin: server.url, 'content-type': 'application/json' }
    const signIn = () =>
      fetch(`${server.url}/console/session`, { method: 'POST', headers, body: JSON.stringify({ token }) })
    const first = await signIn()
    assert.deepEqual([first.status, (await signIn()).status], [200, 401])
    const cookie = first.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const keys = async () => (await fetch(`${server.url}/console/keys`, { headers: { cookie } })).status
    assert.equal(await keys(), 200)
    const ended = await runCommand(['console', 'sign-out', '--json'], { cwd: home.dir })
    assert.deepEqual(JSON.parse(ended.stdout), { ended: 1 })
    assert.equal(await keys(), 401)
    assert.ok(!lines.join('').includes(token))
  } finally {
    await server.close()
  }
})

test('the link starts with --url or the public URL', async () => {
  await using home = await openFolder()
  await writeFile(join(home.dir, 'tetrad.yaml'), 'server: { publicUrl: "https://data.example" }\n')
  await (await openState(join(home.dir, 'data'))).close()
  const link = async (...more: string[]) => (await runCommand(['console', 'link', ...more], { cwd: home.dir })).stdout
  assert.match(await link(), /^https:\/\/data\.example\/#\/sign-in\//)
  assert.match(await link('--url', 'http://[::1]:1/'), /^http:\/\/\[::1\]:1\/#\/sign-in\//)
  const invalid = await runCommand(['console', 'link', '--url', 'nowhere:1'], { cwd: home.dir })
  assert.match(invalid.stderr, /nowhere:1 is not an http or https URL/)
})

test('a mistyped --data does not create a folder', async () => {
  await using home = await openFolder()
  const { code, stderr } = await runCommand(['console', 'link', '--data', 'nowhere', '--json'], { cwd: home.dir })
  assert.deepEqual([code, JSON.parse(stderr).error.code], [1, 'data.missing'])
})
