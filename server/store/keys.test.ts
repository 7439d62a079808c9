import { strict as assert } from 'node:assert'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { digestOf, splitKey } from '#core/key.ts'
import { openDesk, testNowMs } from '#test/desk.ts'
import { createKey, findKey, listKeys, type NewKey, revokeKey, rotateKey, writeLastUsed } from './keys.ts'
import { openState } from './open.ts'

test('a created key is found by its id, with the digest of the key that was handed out', async () => {
  await using desk = await openDesk()
  const { id, key } = await createKey(desk.state, { name: 'ci', plan: 'lite' }, desk.clock, desk.random)
  const parts = splitKey(key)
  assert.equal(parts?.id, id)
  assert.deepEqual(await findKey(desk.state, id), {
    id,
    name: 'ci',
    plan: 'lite',
    groups: ['explorer', 'fx', 'validators', 'markets'],
    admin: false,
    createdAtMs: testNowMs,
    expiresAtMs: undefined,
    revokedAtMs: undefined,
    lastUsedAtMs: undefined,
    digest: parts && new Uint8Array(digestOf(parts)),
  })
  assert.equal(await findKey(desk.state, 'nobody'), undefined)
})

test('the right to administer is kept, and goes when the key is rotated without it, decision 0084', async () => {
  await using desk = await openDesk()
  const { state, clock, random } = desk
  const { id } = await createKey(state, { name: 'desk', plan: 'free', admin: true }, clock, random)
  assert.equal((await findKey(state, id))?.admin, true)
  await rotateKey(state, { id, name: 'desk', plan: 'free' }, clock, random)
  assert.equal((await findKey(state, id))?.admin, false)
})

test('groups and expiry are kept; the list shows every key and no digest', async () => {
  await using desk = await openDesk()
  const { state, clock, random } = desk
  const first = await createKey(state, { name: 'first', plan: 'free' }, clock, random)
  clock.move(1)
  const wanted: NewKey = { name: 'Zoë 2', plan: 'enterprise', groups: ['markets', 'fx'], expiresAtMs: testNowMs + 9000 }
  const second = await createKey(state, wanted, clock, random)
  const list = await listKeys(state)
  assert.deepEqual(
    list.map(({ id, name, groups, expiresAtMs }) => ({ id, name, groups, expiresAtMs })),
    [
      { id: first.id, name: 'first', groups: ['explorer', 'fx', 'validators', 'markets'], expiresAtMs: undefined },
      { id: second.id, name: 'Zoë 2', groups: ['fx', 'markets'], expiresAtMs: testNowMs + 9000 },
    ],
  )
  assert.ok(list.every((info) => !('digest' in info)))
})

test('no file of the store holds the secret', async () => {
  await using desk = await openDesk()
  const { key } = await createKey(desk.state, { name: 'quiet', plan: 'free' }, desk.clock, desk.random)
  const secret = splitKey(key)?.secret ?? ''
  const files = await Promise.all(['state.sqlite', 'state.sqlite-wal'].map((name) => readFile(join(desk.dir, name))))
  assert.ok(
    files.some((bytes) => bytes.includes('quiet')),
    'the key was written to one of these files',
  )
  for (const bytes of files) assert.ok(!bytes.includes(secret))
})

test('revoking is told apart from not finding, and the first time stands', async () => {
  await using desk = await openDesk()
  const { state, clock, random } = desk
  const { id } = await createKey(state, { name: 'ci', plan: 'free' }, clock, random)
  assert.equal(await revokeKey(state, id, clock), true)
  clock.move(5000)
  assert.equal(await revokeKey(state, id, clock), true)
  assert.equal((await findKey(state, id))?.revokedAtMs, testNowMs)
  assert.equal(await revokeKey(state, 'nobody', clock), false)
})

test('rotating keeps the id and its past, and replaces the secret', async () => {
  await using desk = await openDesk()
  const { state, clock, random } = desk
  const before = await rotateKey(state, { id: 'demo', name: 'demo', plan: 'free', groups: ['fx'] }, clock, random)
  await state.write((tx) => writeLastUsed(tx, new Map([['demo', testNowMs + 5]])))
  await revokeKey(state, 'demo', clock)
  clock.move(1000)
  const after = await rotateKey(state, { id: 'demo', name: 'demo', plan: 'enterprise' }, clock, random)
  assert.equal(after.id, 'demo')
  assert.notEqual(after.key, before.key)
  const found = await findKey(state, 'demo')
  assert.deepEqual(
    [found?.plan, found?.groups.length, found?.createdAtMs, found?.lastUsedAtMs, found?.revokedAtMs],
    ['enterprise', 4, testNowMs, testNowMs + 5, undefined],
  )
  assert.equal((await listKeys(state)).length, 1)
})

test('a key that makes no sense is refused in words, and nothing is stored', async () => {
  await using desk = await openDesk()
  const bad: readonly (readonly [object, RegExp])[] = [
    [{ name: '' }, /name: must be 1 to 100/],
    [{ name: 'a\nb' }, /name: must be 1 to 100/],
    [{ plan: 'gold' }, /plan: must be one of free, lite/],
    [{ groups: [] }, /groups: must name at least one/],
    [{ groups: ['fx', 'weather'] }, /groups: must name at least one/],
    [{ expiresAtMs: testNowMs }, /expires: must be a time in the future/],
    [{ expiresAtMs: Number.NaN }, /expires: must be a time in the future/],
    [{ id: 'a:b' }, /id: must be 1 to 64/],
    [{ id: 'anonymous' }, /id: is reserved/],
  ]
  for (const [change, words] of bad) {
    const wanted = { id: 'demo', name: 'ci', plan: 'free', ...change } as NewKey & { id: string }
    await assert.rejects(rotateKey(desk.state, wanted, desk.clock, desk.random), words)
  }
  assert.deepEqual(await listKeys(desk.state), [])
})

test('a second connection, such as a command beside the server, sees the same keys', async () => {
  await using desk = await openDesk()
  const { id } = await createKey(desk.state, { name: 'ci', plan: 'free' }, desk.clock, desk.random)
  const other = await openState(desk.dir, desk.settings.store)
  try {
    assert.equal((await listKeys(other))[0]?.id, id)
    await revokeKey(other, id, desk.clock)
  } finally {
    await other.close()
  }
  assert.equal((await findKey(desk.state, id))?.revokedAtMs, testNowMs)
})
