// Label lists, spec 4.1 and 4.2.
import type { EndpointId } from '#api/routes.ts'
import {
  beginning,
  type Check,
  expect,
  expectReply,
  type Members,
  membersOf,
  refusal,
  Skipped,
  same,
  toList,
} from '../check.ts'
import type { ServerUnderTest } from '../server-under-test.ts'

const v2 = 'explorer.labelListV2'
const v1 = 'explorer.labelListV1'
/** 2100-01-01: a larger number of seconds is milliseconds. */
const secondsMax = 4_102_444_800

async function labels(site: ServerUnderTest): Promise<readonly Members[]> {
  const answered = await site.call(v1)
  const { message } = membersOf(answered.body, 'the reply')
  if (message === 'No data found') throw new Skipped('chain 1 has no labels')
  return toList(expectReply(v1, answered).result, 'result')
}

export const labelChecks: readonly Check[] = [
  {
    id: 'explorer.labels.v2',
    rule: 'spec 4.1',
    requirement: 'version 2 gives the envelope with an array of labels or a link',
    async run(site) {
      await labels(site)
      expectReply(v2, await site.call(v2, { chainid: '1' }))
    },
  },
  {
    id: 'explorer.labels.v1',
    rule: 'spec 4.2',
    requirement: 'version 1 gives the envelope with an array of labels, never a link',
    async run(site) {
      await labels(site)
    },
  },
  {
    id: 'explorer.labels.records',
    rule: 'spec 2.1',
    requirement: 'slugs are lower-case and unique, times are Unix seconds',
    async run(site) {
      const seen = new Set<unknown>()
      for (const { labelslug, lastupdatedtimestamp } of await labels(site)) {
        expect(String(labelslug) === String(labelslug).toLowerCase(), `"${labelslug}" is not lower-case`)
        expect(!seen.has(labelslug), `"${labelslug}" is there twice`)
        seen.add(labelslug)
        const seconds = Number(lastupdatedtimestamp)
        expect(seconds >= 0 && seconds < secondsMax, `${seconds} is no Unix time in seconds`)
      }
    },
  },
  {
    id: 'explorer.labels.default-chain',
    rule: 'spec 4.1',
    requirement: 'chainid left out means chain 1',
    async run(site) {
      await labels(site)
      const plain = expectReply(v2, await site.call(v2))
      const given = expectReply(v2, await site.call(v2, { chainid: '1' }))
      if (typeof plain.result === 'string') expect(typeof given.result === 'string', 'one is a link, the other is not')
      else same(plain.result, given.result, 'the list differs from that of chainid=1')
    },
  },
  {
    id: 'explorer.labels.versions-agree',
    rule: 'behaviour/explorer.md#label-lists',
    requirement: 'version 1 is the list of chain 1',
    async run(site) {
      const list = await labels(site)
      const { result } = expectReply(v2, await site.call(v2, { chainid: '1' }))
      if (typeof result === 'string') throw new Skipped('the list is long, so version 2 gives a link')
      same(result, list, 'the two versions give different lists')
    },
  },
  {
    id: 'explorer.labels.unavailable-chain',
    rule: 'spec 8',
    requirement: 'the list of chain 4326 is temporarily unavailable',
    async run(site) {
      const answered = await site.call(v2, { chainid: '4326' })
      refusal(v2, answered, 'explorer.chain_unavailable')
      expect(/unavailable/i.test(answered.text), `it is not said: ${beginning(answered.text)}`)
    },
  },
  {
    id: 'explorer.labels.unsupported-chain',
    rule: 'behaviour/explorer.md#chains',
    requirement: 'an unknown chain, and a list of chains, are unsupported',
    async run(site) {
      for (const chainid of ['999999999', '1,137', 'one'])
        refusal(v2, await site.call(v2, { chainid }), 'explorer.chain_unsupported')
    },
  },
  {
    id: 'explorer.labels.format',
    rule: 'behaviour/explorer.md#label-lists',
    requirement: 'a format other than csv and json is refused',
    async run(site) {
      refusal(v2, await site.call(v2, { format: 'xml' }), 'input.invalid')
    },
  },
  {
    id: 'explorer.selectors',
    rule: 'behaviour/explorer.md#chains',
    requirement: 'module and action are checked before anything else, the key included',
    async run(site) {
      const wrong: readonly [EndpointId, Members, 'explorer.module' | 'explorer.action'][] = [
        [v2, { module: 'nothing' }, 'explorer.module'],
        [v2, { action: 'nothing' }, 'explorer.action'],
        [v1, { module: 'nothing' }, 'explorer.module'],
        [v1, { action: 'nothing' }, 'explorer.action'],
        ['explorer.fundedBy', { action: 'nothing' }, 'explorer.action'],
      ]
      for (const [id, input, code] of wrong) refusal(id, await site.call(id, input, { key: null, once: true }), code)
    },
  },
  {
    id: 'explorer.any-case-and-forms',
    rule: 'behaviour/explorer.md#parameters',
    requirement: 'parameter names match in any letter case, and a form is read like a query',
    async run(site) {
      const plain = expectReply(v1, await site.call(v1))
      const upper = await site.call(v1, {}, { url: (url) => rename(url, (name) => name.toUpperCase()) })
      same(expectReply(v1, upper).result, plain.result, 'names in upper case give another list')
      const posted = await site.call(
        v1,
        {},
        {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: formOf(site),
          url: (url) => {
            url.search = ''
          },
        },
      )
      same(expectReply(v1, posted).result, plain.result, 'a form gives another list')
    },
  },
]

function rename(url: URL, change: (name: string) => string): void {
  const pairs = [...url.searchParams].map(([name, value]) => [change(name), value])
  url.search = new URLSearchParams(pairs).toString()
}

const formOf = (site: ServerUnderTest): string =>
  new URLSearchParams({ module: 'nametag', action: 'getlabelmasterlist', apikey: site.options.key }).toString()
