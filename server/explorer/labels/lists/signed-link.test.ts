import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createExportPath, type LinkParameters, verifyLink } from './signed-link.ts'

const secret = new Uint8Array(32).fill(7)
const expiresUnix = 1_800_000_300
const beforeMs = 1_800_000_000_000

/** The parts of a link, as the router passes them. */
function linkOf(path: string): LinkParameters {
  const url = new URL(path, 'http://localhost')
  const [, chain = '', format = ''] = /^\/exports\/(\d+)\/labelmasterlist_latest\.(\w+)$/.exec(url.pathname) ?? []
  const part = (name: string) => url.searchParams.get(name) ?? undefined
  return { chain, format, expires: part('expires'), signature: part('signature') }
}
const good = linkOf(createExportPath(secret, '137', 'csv', expiresUnix))

test('a link is valid before its second of expiry, not in it', () => {
  assert.equal(verifyLink(secret, good, beforeMs), 'csv')
  assert.equal(verifyLink(secret, good, expiresUnix * 1000 - 1), 'csv')
  assert.equal(verifyLink(secret, good, expiresUnix * 1000), undefined)
})

const tamperedLinks: readonly [string, Partial<LinkParameters>][] = [
  ['another chain', { chain: '1' }],
  ['another form', { format: 'json' }],
  ['a later expiry', { expires: String(expiresUnix + 1) }],
  ['the same expiry spelled otherwise', { expires: `${expiresUnix}.0` }],
  ['no expiry', { expires: undefined }],
  ['no signature', { signature: undefined }],
  ['a shorter signature', { signature: good.signature?.slice(0, -4) }],
  ['a changed signature', { signature: `${good.signature?.[0] === 'A' ? 'B' : 'A'}${good.signature?.slice(1)}` }],
  ['a signature that is no base64', { signature: '%%%%' }],
]
for (const [name, changes] of tamperedLinks) {
  test(`a link with ${name} is rejected`, () =>
    assert.equal(verifyLink(secret, { ...good, ...changes }, beforeMs), undefined))
}

test('a link with any changed character in its signature is rejected', () => {
  const { signature = '' } = good
  for (let at = 0; at < signature.length; at++) {
    for (const other of ['A', 'B', 'C', 'D'].filter((char) => char !== signature[at])) {
      const changed = signature.slice(0, at) + other + signature.slice(at + 1)
      assert.equal(verifyLink(secret, { ...good, signature: changed }, beforeMs), undefined, `character ${at}`)
    }
  }
})

test('a link that was signed with another secret is rejected', () =>
  assert.equal(verifyLink(new Uint8Array(32).fill(8), good, beforeMs), undefined))
