// Download links of the label list: content, lifetime, forgery.

import { Type } from '#api/contract/kit.ts'
import { LabelRecord } from '#api/contract/wire/explorer.ts'
import { type Checks, expect, expectNoProblems, expectReply, membersOf, Skipped } from '../check.ts'
import { misfits } from '../schema-fit.ts'
import type { ServerUnderTest } from '../server-under-test.ts'

const id = 'explorer.labelListV2'
const linkSeconds = 300
/** For clocks that differ a little. */
const slackSeconds = 5

async function linkOf(server: ServerUnderTest, format: 'csv' | 'json'): Promise<URL> {
  const response = await server.call(id, { chainid: '1', format })
  if (membersOf(response.body, 'the reply').message === 'No data found') throw new Skipped('chain 1 has no labels')
  const { result } = expectReply(id, response)
  expect(typeof result === 'string', `format=${format} does not return a link`)
  return new URL(result)
}

const download = (server: ServerUnderTest, url: URL) => server.follow(url.href)

const forgeries: readonly (readonly [description: string, change: (url: URL) => void])[] = [
  ['without its signature', (url) => url.searchParams.delete('signature')],
  ['with a changed signature', (url) => flip(url, 'signature')],
  [
    'with a later expiry',
    (url) => url.searchParams.set('expires', String(Number(url.searchParams.get('expires')) + 3600)),
  ],
  ['without its expiry', (url) => url.searchParams.delete('expires')],
  ['with an empty signature', (url) => url.searchParams.set('signature', '')],
  ['of another format', (url) => changePath(url, url.pathname.replace(/\.csv$/, '.json'))],
  ['of another chain', (url) => changePath(url, url.pathname.replace('/1/', '/137/'))],
]

function changePath(url: URL, path: string): void {
  url.pathname = path
}

function flip(url: URL, name: string): void {
  const text = url.searchParams.get(name) ?? ''
  url.searchParams.set(name, `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`)
}

export const linkChecks: Checks = {
  'explorer.link.csv': {
    rule: 'behaviour/explorer.md#csv-files',
    requirement: 'format=csv returns a link to a CSV file with a header line',
    async run(server) {
      const { status, headers, text } = await download(server, await linkOf(server, 'csv'))
      expect(status === 200, `the download returns ${status}`)
      expect(/^text\/csv/.test(headers.get('content-type') ?? ''), `content-type is ${headers.get('content-type')}`)
      const [first = ''] = text.split('\r\n')
      const names = Object.keys(LabelRecord.properties).join(',')
      expect(first === names, `the header line is "${first}", not "${names}"`)
    },
  },
  'explorer.link.json': {
    rule: 'spec 2.1',
    requirement: 'format=json returns a link to the array of label records; the download needs no key',
    async run(server) {
      const { status, body } = await download(server, await linkOf(server, 'json'))
      expect(status === 200, `the download returns ${status}`)
      expectNoProblems(misfits(Type.Array(LabelRecord), body))
    },
  },
  'explorer.link.lifetime': {
    rule: 'spec 8',
    requirement: 'a link expires after 5 minutes',
    async run(server) {
      const response = await server.call(id, { chainid: '1', format: 'json' })
      const { result } = expectReply(id, response)
      const expires = Number(new URL(String(result)).searchParams.get('expires'))
      if (!Number.isInteger(expires) || expires === 0)
        throw new Skipped('the link has no expires parameter; use --slow')
      const nowMs = Date.parse(response.headers.get('date') ?? '') || server.environment.now()
      const seconds = expires - nowMs / 1000
      expect(
        Math.abs(seconds - linkSeconds) <= slackSeconds,
        `the link expires after ${Math.round(seconds)} s, not ${linkSeconds}`,
      )
    },
  },
  'explorer.link.forged': {
    rule: 'behaviour/explorer.md#download-links',
    requirement: 'a changed or incomplete link returns 403',
    async run(server) {
      const good = await linkOf(server, 'csv')
      const problems: string[] = []
      for (const [description, change] of forgeries) {
        const url = new URL(good)
        change(url)
        const { status } = await download(server, url)
        if (status !== 403) problems.push(`a link ${description} returns ${status}`)
      }
      expectNoProblems(problems)
    },
  },
  'explorer.link.expires': {
    rule: 'spec 8',
    requirement: 'a link stops working when it has expired',
    onlyWith: 'slow',
    async run(server) {
      const url = await linkOf(server, 'json')
      const first = await download(server, url)
      expect(first.status === 200, `the new link returns ${first.status}`)
      const expires =
        Number(url.searchParams.get('expires')) || server.environment.now() / 1000 + linkSeconds + slackSeconds
      await server.environment.sleep(Math.max(0, expires * 1000 - server.environment.now()) + 1500)
      const { status } = await download(server, url)
      expect(status === 403, `the expired link returns ${status}`)
    },
  },
}
