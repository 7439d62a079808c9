import { strict as assert } from 'node:assert'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { digestOf, splitKey } from '#core/key.ts'
import { openContext, testNowMs } from '#test/context.ts'
import {
  createKey,
  editKey,
  findKey,
  issueKey,
  keyRevision,
  listKeys,
  type NewKey,
  revokeKey,
  rotateKey,
  writeLastUsed,
} from './keys.ts'
import { openState } from './open.ts'

test('a created key is found by its id, with the digest of the returned key', async () => {
  await using context = await openContext()
  const { id, key } = await createKey(context.state, { name: 'ci', plan: 'lite' }, context.clock, context.random)
  const parts = splitKey(key)
  assert.equal(parts?.id, id)
  assert.deepEqual(await findKey(context.state, id), {
    id,
    name: 'ci',
    plan: 'lite',
    groups: ['explorer', 'fx', 'validators', 'markets'],
    admin: false,
    createdAtMs: testNowMs,
    expiresAtMs: undefined,
    revokedAtMs: undefined,
    lastUsedAtMs: undefined,
    oldSecretUntilMs: undefined,
    oldDigest: undefined,
    digest: parts && new Uint8Array(digestOf(parts)),
  })
  assert.equal(await findKey(context.state, 'nobody'), undefined)
})

test('the admin flag is stored, and removed when the key is issued again without it', async () => {
  await using context = await openContext()
  const { state, clock, random } = context
  const { id } = await createKey(state, { name: 'desk', plan: 'free', admin: true }, clock, random)
  assert.equal((await findKey(state, id))?.admin, true)
  await issueKey(state, { id, name: 'desk', plan: 'free' }, clock, random)
  assert.equal((await findKey(state, id))?.admin, false)
})

test('groups and expiry are stored; the list has every key and no digests', async () => {
  await using context = await openContext()
  const { state, clock, random } = context
  const first = await createKey(state, { name: 'first', plan: 'free' }, clock, random)
  clock.advance(1)
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

test('no database file contains the secret', async () => {
  await using context = await openContext()
  const { key } = await createKey(context.state, { name: 'quiet', plan: 'free' }, context.clock, context.random)
  const secret = splitKey(key)?.secret ?? ''
  const files = await Promise.all(['state.sqlite', 'state.sqlite-wal'].map((name) => readFile(join(context.dir, name))))
  assert.ok(
    files.some((bytes) => bytes.includes('quiet')),
    'the key was written to one of these files',
  )
  for (const bytes of files) assert.ok(!bytes.includes(secret))
})

test('revoking returns false for an unknown key and keeps the first time', async () => {
  await using context = await openContext()
  const { state, clock, random } = context
  const { id } = await createKey(state, { name: 'ci', plan: 'free' }, clock, random)
  assert.equal(await revokeKey(state, id, clock), true)
  clock.advance(5000)
  assert.equal(await revokeKey(state, id, clock), true)
  assert.equal((await findKey(state, id))?.revokedAtMs, testNowMs)
  assert.equal(await revokeKey(state, 'nobody', clock), false)
})

test('issuing again keeps id, usage and creation time, and replaces the rest', async () => {
  await using context = await openContext()
  const { state, clock, random } = context
  const before = await issueKey(state, { id: 'demo', name: 'demo', plan: 'free', groups: ['fx'] }, clock, random)
  await state.write((tx) => writeLastUsed(tx, new Map([['demo', testNowMs + 5]])))
  await revokeKey(state, 'demo', clock)
  clock.advance(1000)
  const after = await issueKey(state, { id: 'demo', name: 'demo', plan: 'enterprise' }, clock, random)
  assert.equal(after.id, 'demo')
  assert.notEqual(after.key, before.key)
  const found = await findKey(state, 'demo')
  assert.deepEqual(
    [found?.plan, found?.groups.length, found?.createdAtMs, found?.lastUsedAtMs, found?.revokedAtMs],
    ['enterprise', 4, testNowMs, testNowMs + 5, undefined],
  )
  assert.equal((await listKeys(state)).length, 1)
})

test('rotating replaces only the secret', async () => {
  await using context = await openContext()
  const { state, clock, random } = context
  const wanted: NewKey = { name: 'ci', plan: 'lite', groups: ['fx'], expiresAtMs: testNowMs + 9000, admin: true }
  const before = await createKey(state, wanted, clock, random)
  const { digest: oldDigest, ...stays } = (await findKey(state, before.id)) ?? assert.fail()
  clock.advance(1000)
  const revision = await keyRevision(state)
  const after = (await rotateKey(state, { id: before.id }, clock, random)) ?? assert.fail()
  assert.equal(after.id, before.id)
  const { digest, ...now } = (await findKey(state, before.id)) ?? assert.fail()
  assert.deepEqual(now, stays)
  assert.notDeepEqual(digest, oldDigest)
  assert.deepEqual(digest, new Uint8Array(digestOf(splitKey(after.key) ?? assert.fail())))
  assert.equal(await keyRevision(state), revision + 1)
  assert.equal(await rotateKey(state, { id: 'nobody' }, clock, random), undefined)
})

test('an old secret is kept for the overlap, and only the last one', async () => {
  await using context = await openContext()
  const { state, clock, random } = context
  const { id, key } = await createKey(state, { name: 'ci', plan: 'free' }, clock, random)
  const digestsOf = async () => {
    const { digest, oldDigest, oldSecretUntilMs } = (await findKey(state, id)) ?? assert.fail()
    return [digest, oldDigest, oldSecretUntilMs]
  }
  const digestIn = (text = '') => new Uint8Array(digestOf(splitKey(text) ?? assert.fail()))
  const until = testNowMs + 9000
  const second = await rotateKey(state, { id, oldSecretUntilMs: until }, clock, random)
  assert.equal(second?.oldSecretUntilMs, until)
  assert.deepEqual(await digestsOf(), [digestIn(second?.key), digestIn(key), until])
  const third = await rotateKey(state, { id, oldSecretUntilMs: until }, clock, random)
  assert.deepEqual(await digestsOf(), [digestIn(third?.key), digestIn(second?.key), until])
  const fourth = await rotateKey(state, { id }, clock, random)
  assert.deepEqual(await digestsOf(), [digestIn(fourth?.key), undefined, undefined])

  for (const oldSecretUntilMs of [testNowMs, testNowMs + 90 * 86_400_000 + 1, Number.NaN])
    await assert.rejects(rotateKey(state, { id, oldSecretUntilMs }, clock, random), /must be in the next 90 days/)
  await rotateKey(state, { id, oldSecretUntilMs: until }, clock, random)
  await revokeKey(state, id, clock)
  await assert.rejects(
    rotateKey(state, { id, restore: true, oldSecretUntilMs: until }, clock, random),
    /oldSecretUntil is not possible for a revoked key/,
  )
  await rotateKey(state, { id, restore: true }, clock, random)
  assert.deepEqual((await digestsOf()).slice(1), [undefined, undefined])
  await rotateKey(state, { id, oldSecretUntilMs: until }, clock, random)
  await issueKey(state, { id, name: 'ci', plan: 'free' }, clock, random)
  assert.deepEqual((await digestsOf()).slice(1), [undefined, undefined])
})

test('a revoked key is rotated only with restore, an expired one not at all', async () => {
  await using context = await openContext()
  const { state, clock, random } = context
  const wanted: NewKey = { name: 'ci', plan: 'free', expiresAtMs: testNowMs + 9000 }
  const { id } = await createKey(state, wanted, clock, random)
  await revokeKey(state, id, clock)
  const before = await findKey(state, id)
  await assert.rejects(rotateKey(state, { id }, clock, random), /restore is required for a revoked key/)
  assert.deepEqual(await findKey(state, id), before)
  await rotateKey(state, { id, restore: true }, clock, random)
  assert.equal((await findKey(state, id))?.revokedAtMs, undefined)
  clock.advance(9000)
  await assert.rejects(rotateKey(state, { id, restore: true }, clock, random), /expires is in the past: /)
})

test('editing changes only the given members; null removes a restriction', async () => {
  await using context = await openContext()
  const { state, clock, random } = context
  const wanted: NewKey = { name: 'ci', plan: 'lite', groups: ['fx'], expiresAtMs: testNowMs + 9000, admin: true }
  const { id } = await createKey(state, wanted, clock, random)
  await revokeKey(state, id, clock)
  let expected = (await findKey(state, id)) ?? assert.fail()
  const steps = [
    [{ name: 'Zoë' }, { name: 'Zoë' }],
    [{ plan: 'enterprise' }, { plan: 'enterprise' }],
    [{ groups: ['markets', 'explorer'] }, { groups: ['explorer', 'markets'] }],
    [{ expiresAtMs: testNowMs + 5 }, { expiresAtMs: testNowMs + 5 }],
    [{ admin: false }, { admin: false }],
    [
      { groups: null, expiresAtMs: null },
      { groups: ['explorer', 'fx', 'validators', 'markets'], expiresAtMs: undefined },
    ],
  ] as const
  for (const [change, result] of steps) {
    const revision = await keyRevision(state)
    assert.equal(await editKey(state, id, change, clock), true)
    expected = { ...expected, ...result }
    assert.deepEqual(await findKey(state, id), expected)
    assert.equal(await keyRevision(state), revision + 1)
  }
  assert.equal(await editKey(state, 'nobody', { name: 'x' }, clock), false)
  await assert.rejects(editKey(state, id, { expiresAtMs: testNowMs }, clock), /expires must be a time in the future/)
  await assert.rejects(editKey(state, id, { groups: [] }, clock), /groups must be at least one/)
  await assert.rejects(editKey(state, id, { name: '' }, clock), /name must be 1 to 100/)
  assert.deepEqual(await findKey(state, id), expected)
})

test('an expired key can be renamed, and works again with a later expiry', async () => {
  await using context = await openContext()
  const { state, clock, random } = context
  const { id } = await createKey(state, { name: 'ci', plan: 'free', expiresAtMs: testNowMs + 1 }, clock, random)
  clock.advance(10)
  assert.equal(await editKey(state, id, { name: 'old ci' }, clock), true)
  assert.equal(await editKey(state, id, { expiresAtMs: testNowMs + 100 }, clock), true)
  const found = await findKey(state, id)
  assert.deepEqual([found?.name, found?.expiresAtMs], ['old ci', testNowMs + 100])
})

test('calls that change no key do not invalidate cached keys', async () => {
  await using context = await openContext()
  const { state, clock, random } = context
  const before = await keyRevision(state)
  await revokeKey(state, 'nobody', clock)
  await editKey(state, 'nobody', { name: 'x' }, clock)
  await rotateKey(state, { id: 'nobody' }, clock, random)
  assert.equal(await keyRevision(state), before)
})

test('an invalid key is refused with a reason, and nothing is stored', async () => {
  await using context = await openContext()
  const bad: readonly (readonly [object, RegExp])[] = [
    [{ name: '' }, /name must be 1 to 100/],
    [{ name: 'a\nb' }, /name must be 1 to 100/],
    [{ plan: 'gold' }, /plan must be one of free, lite/],
    [{ groups: [] }, /groups must be at least one/],
    [{ groups: ['fx', 'weather'] }, /groups must be at least one/],
    [{ expiresAtMs: testNowMs }, /expires must be a time in the future/],
    [{ expiresAtMs: Number.NaN }, /expires must be a time in the future/],
    [{ id: 'a:b' }, /id must be 1 to 64/],
    [{ id: 'anonymous' }, /id is reserved/],
  ]
  for (const [change, words] of bad) {
    const wanted = { id: 'demo', name: 'ci', plan: 'free', ...change } as NewKey & { id: string }
    await assert.rejects(issueKey(context.state, wanted, context.clock, context.random), words)
  }
  assert.deepEqual(await listKeys(context.state), [])
})

test('a second connection, such as that of a command, sees the same keys', async () => {
  await using context = await openContext()
  const { id } = await createKey(context.state, { name: 'ci', plan: 'free' }, context.clock, context.random)
  const other = await openState(context.dir, context.settings.store)
  try {
    assert.equal((await listKeys(other))[0]?.id, id)
    await revokeKey(other, id, context.clock)
  } finally {
    await other.close()
  }
  assert.equal((await findKey(context.state, id))?.revokedAtMs, testNowMs)
})
