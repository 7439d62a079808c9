// Download links of the label list: what they lead to, how long they live, and that they cannot be made up.

import { Type } from '#api/kit.ts'
import { LabelRecord } from '#api/wire/explorer.ts'
import { type Check, expect, expectNoProblems, expectReply, membersOf, Skipped } from '../check.ts'
import { misfits } from '../schema-fit.ts'
import type { ServerUnderTest } from '../server-under-test.ts'

const id = 'explorer.labelListV2'
const linkSeconds = 300
/** For clocks that differ a little. */
const slackSeconds = 5

async function linkOf(site: ServerUnderTest, format: 'csv' | 'json'): Promise<URL> {
  const answered = await site.call(id, { chainid: '1', format })
  if (membersOf(answered.body, 'the reply').message === 'No data found') throw new Skipped('chain 1 has no labels')
  const { result } = expectReply(id, answered)
  expect(typeof result === 'string', `format=${format} gives no link`)
  return new URL(result)
}

const download = (site: ServerUnderTest, url: URL) => site.follow(url.href)

/** A link that somebody changed. */
const forgeries: readonly (readonly [words: string, change: (url: URL) => void])[] = [
  ['without its signature', (url) => url.searchParams.delete('signature')],
  ['with a changed signature', (url) => flip(url, 'signature')],
  [
    'with a later expiry',
    (url) => url.searchParams.set('expires', String(Number(url.searchParams.get('expires')) + 3600)),
  ],
  ['without its expiry', (url) => url.searchParams.delete('expires')],
  ['with an empty signature', (url) => url.searchParams.set('signature', '')],
  ['of another form', (url) => changePath(url, url.pathname.replace(/\.csv$/, '.json'))],
  ['of another chain', (url) => changePath(url, url.pathname.replace('/1/', '/137/'))],
]

function changePath(url: URL, path: string): void {
  url.pathname = path
}

function flip(url: URL, name: string): void {
  const text = url.searchParams.get(name) ?? ''
  url.searchParams.set(name, `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`)
}

export const linkChecks: readonly Check[] = [
  {
    id: 'explorer.link.csv',
    rule: 'behaviour/explorer.md#csv-files',
    requirement: 'format=csv gives a link to a CSV with a header line',
    async run(site) {
      const { status, headers, text } = await download(site, await linkOf(site, 'csv'))
      expect(status === 200, `the download gives ${status}`)
      expect(/^text\/csv/.test(headers.get('content-type') ?? ''), `content-type is ${headers.get('content-type')}`)
      const [first = ''] = text.split('\r\n')
      const names = Object.keys(LabelRecord.properties).join(',')
      expect(first === names, `the header line is "${first}", not "${names}"`)
    },
  },
  {
    id: 'explorer.link.json',
    rule: 'spec 2.1',
    requirement: 'format=json gives a link to the array of label records, and no key is needed to follow it',
    async run(site) {
      const { status, body } = await download(site, await linkOf(site, 'json'))
      expect(status === 200, `the download gives ${status}`)
      expectNoProblems(misfits(Type.Array(LabelRecord), body))
    },
  },
  {
    id: 'explorer.link.life',
    rule: 'spec 8',
    requirement: 'a link says that it lives 5 minutes',
    async run(site) {
      const answered = await site.call(id, { chainid: '1', format: 'json' })
      const { result } = expectReply(id, answered)
      const expires = Number(new URL(String(result)).searchParams.get('expires'))
      if (!Number.isInteger(expires) || expires === 0)
        throw new Skipped('the link does not show its expiry; use --slow')
      const nowMs = Date.parse(answered.headers.get('date') ?? '') || site.environment.now()
      const seconds = expires - nowMs / 1000
      expect(Math.abs(seconds - linkSeconds) <= slackSeconds, `it lives ${Math.round(seconds)} s, not ${linkSeconds}`)
    },
  },
  {
    id: 'explorer.link.forged',
    rule: 'behaviour/explorer.md#download-links',
    requirement: 'a link that was changed, or lacks a part, is a 403',
    async run(site) {
      const good = await linkOf(site, 'csv')
      const problems: string[] = []
      for (const [words, change] of forgeries) {
        const url = new URL(good)
        change(url)
        const { status } = await download(site, url)
        if (status !== 403) problems.push(`a link ${words} gives ${status}`)
      }
      expectNoProblems(problems)
    },
  },
  {
    id: 'explorer.link.expires',
    rule: 'spec 8',
    requirement: 'a link stops working when its time is over',
    onlyWith: 'slow',
    async run(site) {
      const url = await linkOf(site, 'json')
      const first = await download(site, url)
      expect(first.status === 200, `the fresh link gives ${first.status}`)
      const expires =
        Number(url.searchParams.get('expires')) || site.environment.now() / 1000 + linkSeconds + slackSeconds
      await site.environment.sleep(Math.max(0, expires * 1000 - site.environment.now()) + 1500)
      const { status } = await download(site, url)
      expect(status === 403, `after its time it gives ${status}`)
    },
  },
]
