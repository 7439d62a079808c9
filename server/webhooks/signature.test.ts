// The code in docs/alerts.md accepts our signatures and refuses altered and old ones.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { testSecret } from '#test/alerts-network.ts'
import { signatureHeaders } from './signature.ts'

const nowMs = Date.UTC(2026, 10, 16, 12)
const body = '{"text":"Prüfung"}'
const headers = signatureHeaders(testSecret, { id: 'd-1', nowMs, body })

/** What to verify, and whether it is authentic. */
const cases: readonly (readonly [headers: object, body: string, nowMs: number, isAuthentic: boolean])[] = [
  [headers, body, nowMs, true],
  [headers, body, nowMs + 299_000, true],
  [headers, body, nowMs + 301_000, false],
  [headers, `${body} `, nowMs, false],
  [{ ...headers, 'webhook-id': 'd-2' }, body, nowMs, false],
  [{ ...headers, 'webhook-timestamp': String(nowMs / 1000 + 1) }, body, nowMs, false],
  [{ ...headers, 'webhook-signature': 'v1,AAAA' }, body, nowMs, false],
  [{ ...headers, 'webhook-signature': `v1,AAAA ${headers['webhook-signature']}` }, body, nowMs, true],
]

let dir: string
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tetrad-signature-'))
})
after(() => rm(dir, { recursive: true, force: true }))

async function writeSnippet(language: string, file: string): Promise<string> {
  const page = await readFile(new URL('../../docs/alerts.md', import.meta.url), 'utf8')
  const [, code] = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page) ?? []
  assert.ok(code, `docs/alerts.md has code in ${language}`)
  await writeFile(join(dir, file), code)
  return join(dir, file)
}

test('the TypeScript code of the documentation verifies signatures', async () => {
  const { isAuthentic } = (await import(await writeSnippet('typescript', 'verify.ts'))) as {
    isAuthentic: (secret: string, headers: object, body: string, nowMs: number) => boolean
  }
  for (const [given, text, atMs, expected] of cases)
    assert.equal(isAuthentic(testSecret, given, text, atMs), expected, JSON.stringify(given))
})

const hasPython = spawnSync('python3', ['--version']).status === 0

test('the Python code of the documentation verifies signatures', { skip: !hasPython && 'no python3' }, async () => {
  await writeSnippet('python', 'verify.py')
  const program = `
import json, sys
sys.path.insert(0, sys.argv[1])
from verify import is_authentic
for headers, body, now_ms, expected in json.loads(sys.argv[3]):
    print(is_authentic(sys.argv[2], headers, body.encode(), now_ms / 1000) == expected)
`
  const { stdout, stderr } = spawnSync('python3', ['-c', program, dir, testSecret, JSON.stringify(cases)], {
    encoding: 'utf8',
  })
  assert.equal(stderr, '')
  assert.deepEqual(
    stdout.trim().split('\n'),
    cases.map(() => 'True'),
  )
})

test('the signature equals the example of the Standard Webhooks libraries', () => {
  const signed = signatureHeaders('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    nowMs: 1_614_265_330_000,
    body: '{"test": 2432232314}',
  })
  assert.equal(signed['webhook-signature'], 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
})
