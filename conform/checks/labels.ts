// Label lists, spec 4.1 and 4.2.
import type { EndpointId } from '#api/routes.ts'
import {
  beginning,
  type Check,
  claim,
  listOf,
  type Members,
  membersOf,
  refusal,
  reply,
  Skipped,
  same,
} from '../check.ts'
import type { Site } from '../site.ts'

const v2 = 'explorer.labelListV2'
const v1 = 'explorer.labelListV1'
/** 2100-01-01: a larger number of seconds is milliseconds. */
const secondsMax = 4_102_444_800

async function labels(site: Site): Promise<readonly Members[]> {
  const answered = await site.ask(v1)
  const { message } = membersOf(answered.body, 'the reply')
  if (message === 'No data found') throw new Skipped('chain 1 has no labels')
  return listOf(reply(v1, answered).result, 'result')
}

export const labelChecks: readonly Check[] = [
  {
    id: 'explorer.labels.v2',
    rule: 'spec 4.1',
    says: 'version 2 gives the envelope with an array of labels or a link',
    async run(site) {
      await labels(site)
      reply(v2, await site.ask(v2, { chainid: '1' }))
    },
  },
  {
    id: 'explorer.labels.v1',
    rule: 'spec 4.2',
    says: 'version 1 gives the envelope with an array of labels, never a link',
    async run(site) {
      await labels(site)
    },
  },
  {
    id: 'explorer.labels.records',
    rule: 'spec 2.1',
    says: 'slugs are lower-case and unique, times are Unix seconds',
    async run(site) {
      const seen = new Set<unknown>()
      for (const { labelslug, lastupdatedtimestamp } of await labels(site)) {
        claim(String(labelslug) === String(labelslug).toLowerCase(), `"${labelslug}" is not lower-case`)
        claim(!seen.has(labelslug), `"${labelslug}" is there twice`)
        seen.add(labelslug)
        const seconds = Number(lastupdatedtimestamp)
        claim(seconds >= 0 && seconds < secondsMax, `${seconds} is no Unix time in seconds`)
      }
    },
  },
  {
    id: 'explorer.labels.default-chain',
    rule: 'spec 4.1',
    says: 'chainid left out means chain 1',
    async run(site) {
      await labels(site)
      const plain = reply(v2, await site.ask(v2))
      const given = reply(v2, await site.ask(v2, { chainid: '1' }))
      if (typeof plain.result === 'string') claim(typeof given.result === 'string', 'one is a link, the other is not')
      else same(plain.result, given.result, 'the list differs from that of chainid=1')
    },
  },
  {
    id: 'explorer.labels.versions-agree',
    rule: 'decision 0013',
    says: 'version 1 is the list of chain 1',
    async run(site) {
      const list = await labels(site)
      const { result } = reply(v2, await site.ask(v2, { chainid: '1' }))
      if (typeof result === 'string') throw new Skipped('the list is long, so version 2 gives a link')
      same(result, list, 'the two versions give different lists')
    },
  },
  {
    id: 'explorer.labels.unavailable-chain',
    rule: 'spec 8',
    says: 'the list of chain 4326 is temporarily unavailable',
    async run(site) {
      const answered = await site.ask(v2, { chainid: '4326' })
      refusal(v2, answered, 'explorer.chain_unavailable')
      claim(/unavailable/i.test(answered.text), `it is not said: ${beginning(answered.text)}`)
    },
  },
  {
    id: 'explorer.labels.unsupported-chain',
    rule: 'decision 0010',
    says: 'an unknown chain, and a list of chains, are unsupported',
    async run(site) {
      for (const chainid of ['999999999', '1,137', 'one'])
        refusal(v2, await site.ask(v2, { chainid }), 'explorer.chain_unsupported')
    },
  },
  {
    id: 'explorer.labels.format',
    rule: 'decision 0013',
    says: 'a format other than csv and json is refused',
    async run(site) {
      refusal(v2, await site.ask(v2, { format: 'xml' }), 'input.invalid')
    },
  },
  {
    id: 'explorer.selectors',
    rule: 'decision 0010',
    says: 'module and action are checked before anything else, the key included',
    async run(site) {
      const wrong: readonly [EndpointId, Members, 'explorer.module' | 'explorer.action'][] = [
        [v2, { module: 'nothing' }, 'explorer.module'],
        [v2, { action: 'nothing' }, 'explorer.action'],
        [v1, { module: 'nothing' }, 'explorer.module'],
        [v1, { action: 'nothing' }, 'explorer.action'],
        ['explorer.fundedBy', { action: 'nothing' }, 'explorer.action'],
      ]
      for (const [id, input, code] of wrong) refusal(id, await site.ask(id, input, { key: null, once: true }), code)
    },
  },
  {
    id: 'explorer.any-case-and-forms',
    rule: 'decision 0011',
    says: 'parameter names match in any letter case, and a form is read like a query',
    async run(site) {
      const plain = reply(v1, await site.ask(v1))
      const upper = await site.ask(v1, {}, { url: (url) => rename(url, (name) => name.toUpperCase()) })
      same(reply(v1, upper).result, plain.result, 'names in upper case give another list')
      const posted = await site.ask(
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
      same(reply(v1, posted).result, plain.result, 'a form gives another list')
    },
  },
]

function rename(url: URL, change: (name: string) => string): void {
  const pairs = [...url.searchParams].map(([name, value]) => [change(name), value])
  url.search = new URLSearchParams(pairs).toString()
}

const formOf = (site: Site): string =>
  new URLSearchParams({ module: 'nametag', action: 'getlabelmasterlist', apikey: site.options.key }).toString()
