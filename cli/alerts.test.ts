// `tetrad validators alerts` and `tetrad validators alerts test`.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { openIngest } from '#storage/open.ts'
import { testSecret, testWebhook } from '#test/alerts-network.ts'
import { openFolder, runCommand } from '#test/run-command.ts'
import { serveScript } from '#test/scripted-server.ts'
import { copyEmptyStores } from '#test/template.ts'
import { alertDeliveries, storeDeliveries } from '#validators/extensions/alerts/deliveries.ts'
import { recordAttempt } from '#webhooks/deliveries.ts'

async function openScene(url = 'http://127.0.0.1:1/') {
  const folder = await openFolder()
  await writeFile(
    join(folder.dir, 'tetrad.yaml'),
    JSON.stringify({ validators: { webhooks: [testWebhook({ url }), testWebhook({ id: 'pager' })] } }),
  )
  const run = (...args: string[]) => runCommand(['validators', 'alerts', ...args], { cwd: folder.dir })
  return { ...folder, run }
}

test('deliveries are listed, newest first, as text and as JSON', async () => {
  await using at = await openScene()
  await copyEmptyStores(join(at.dir, 'data'))
  const state = await openIngest(join(at.dir, 'data'))
  try {
    assert.match((await at.run()).stdout, /^No deliveries yet\.\n$/)
    const delivery = {
      webhook: 'ops',
      network: 'mainnet',
      validators: 3,
      body: '{"count":3}',
      finality: 'finalized',
    } as const
    const older = { ...delivery, id: 'd-1', event: 'slashed', epoch: 7 }
    await state.write((tx) => storeDeliveries(tx, [older], Date.UTC(2026, 10, 16, 12)))
    const newer = { ...delivery, id: 'd-2', event: 'exit', epoch: 8 }
    await state.write((tx) => storeDeliveries(tx, [newer], Date.UTC(2026, 10, 16, 13)))
    await recordAttempt(
      alertDeliveries(state),
      { id: 'd-1', attempts: 0 },
      { is: 'failed', atMs: 0, error: 'returned status 500' },
    )
  } finally {
    await state.close()
  }
  const { stdout, code } = await at.run()
  assert.equal(code, 0)
  const lines = stdout.trimEnd().split('\n')
  assert.match(lines[1] ?? '', /^2026-11-16 13:00 +pending +0 +ops +exit +finalized +mainnet +8 +3 +-$/)
  assert.match(
    lines[2] ?? '',
    /^2026-11-16 12:00 +failed +1 +ops +slashed +finalized +mainnet +7 +3 +returned status 500$/,
  )
  const listed = JSON.parse((await at.run('list', '--limit', '1', '--json')).stdout)
  assert.deepEqual([listed.length, listed[0].id, listed[0].body], [1, 'd-2', { count: 3 }])
})

test('a test event is signed and sent, and the result is shown', async () => {
  await using receiver = await serveScript({ status: 202 }, { status: 500 })
  await using at = await openScene(`${receiver.url}/private`)
  const sent = await at.run('test', 'ops')
  assert.deepEqual([sent.code, sent.stderr], [0, ''])
  const [request] = receiver.requests
  const { id, event } = JSON.parse(request?.body ?? '')
  assert.equal(event, 'test')
  assert.equal(sent.stdout, `${receiver.url}/… accepted test delivery ${id} with status 202.\n`)
  const key = Buffer.from(testSecret.slice('whsec_'.length), 'base64')
  const signed = `${id}.${request?.headers['webhook-timestamp']}.${request?.body}`
  const signature = createHmac('sha256', key).update(signed).digest('base64')
  assert.equal(request?.headers['webhook-signature'], `v1,${signature}`)
  const failed = await at.run('test', 'ops')
  assert.equal(failed.code, 1)
  assert.match(failed.stderr, /The test was not delivered: .*returned status 500\./)
})

test('an unknown webhook is refused with the known ones', async () => {
  await using at = await openScene()
  const { code, stderr } = await at.run('test', 'phone')
  assert.equal(code, 1)
  assert.match(stderr, /There is no webhook phone\. Known webhooks: ops, pager\./)
})

test('secrets are neither shown by `config show` nor in errors about them', async () => {
  await using at = await openScene()
  const shown = await runCommand(['config', 'show'], { cwd: at.dir })
  assert.equal(shown.code, 0, shown.stderr)
  assert.match(shown.stdout, /secret: "?whsec_…/)
  assert.doesNotMatch(shown.stdout, /whsec_[A-Za-z0-9]/)
  const webhooks = [testWebhook({ secret: 'not-a-valid-secret' })]
  await writeFile(join(at.dir, 'tetrad.yaml'), JSON.stringify({ validators: { webhooks } }))
  const checked = await runCommand(['config', 'check'], { cwd: at.dir })
  assert.equal(checked.code, 1)
  assert.match(checked.stderr, /webhooks\[0\]\.secret must be whsec_ and 24 to 64 bytes as base64/)
  assert.doesNotMatch(checked.stderr, /not-a-valid-secret/)
})
