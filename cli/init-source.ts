// Finds out what a URL provides: the chain of a node, the network of a beacon node, the kind of a rate document, and
// where the list is in a page of markets. If the source does not respond, the usual case is assumed; the check that
// follows reports it.

import { type Network, networks } from '#api/contract/wire/validators.ts'
import { complete } from '#core/schema-check.ts'
import { findDocumentPaths } from '#fx/rates/find-document-paths.ts'
import { type Settings, SettingsSchema } from '#runtime/settings.ts'
import { chainNames } from '#shared/chain-names.ts'
import { fetchJson } from '#sources/http-client.ts'
import type { FoundSources, SourceKind } from './init-file.ts'

const limits = { timeoutMs: 10_000, bytesMax: 64 * 1_048_576 }
/** The id that Hardhat and Anvil use by default. */
const testChain = '31337'
const networkOfChain: Readonly<Record<string, Network>> = { '1': 'mainnet', '560048': 'hoodi', '17000': 'holesky' }

const finders: { readonly [Kind in SourceKind]: (url: string, get: Get) => Promise<NonNullable<FoundSources[Kind]>> } =
  {
    rpc: async (url, get) => {
      const reply = await get(url, { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })
      const id = String(Number(reply?.result ?? 1))
      return { url, id, name: (id === testChain ? 'Local test chain' : chainNames[id]?.[0]) ?? `Chain ${id}` }
    },
    rates: async (url, get) =>
      /\.xml$|eurofxref/.test(url)
        ? { url, kind: 'ecb' }
        : { url, kind: 'http-json', found: findDocumentPaths(await get(url), url) },
    beacon: async (url, get) => {
      const reply = await get(`${url.replace(/\/$/, '')}/eth/v1/config/spec`)
      const { DEPOSIT_CHAIN_ID: chainId } = (reply?.data ?? {}) as { readonly DEPOSIT_CHAIN_ID?: unknown }
      return { url, network: networkOfChain[String(chainId)] ?? networks[0] }
    },
    markets: async (url, get) => {
      const page = (await get(url)) ?? []
      const list = Array.isArray(page) ? undefined : Object.keys(page).find((name) => Array.isArray(page[name]))
      return { url, list: list ?? '' }
    },
  }

type Get = (url: string, body?: object) => Promise<Readonly<Record<string, unknown>> | undefined>

export function findSource(kind: SourceKind, url: string, offline: boolean): Promise<FoundSources[SourceKind]> {
  const get: Get = async (address, body) => {
    if (offline) return undefined
    const post = body && {
      method: 'POST' as const,
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    }
    const reply = await fetchJson(address, { ...limits, ...post }).catch(() => undefined)
    return typeof reply === 'object' && reply !== null ? (reply as Record<string, unknown>) : undefined
  }
  return finders[kind](url, get)
}

/** The settings that `configText` writes for these sources. */
export function settingsOf({ rpc, rates, beacon, markets }: FoundSources): Settings {
  const { value, problems } = complete(SettingsSchema, {
    explorer: { chains: rpc ? [{ id: rpc.id, name: rpc.name, rpc: [{ url: rpc.url }] }] : [] },
    ...(rates && { fx: { sources: [{ id: 'main', kind: rates.kind, url: rates.url, ...rates.found }] } }),
    ...(beacon && { validators: { networks: { [beacon.network]: { beacon: { urls: [beacon.url] } } } } }),
    ...(markets && { markets: { feeds: [{ id: 'main', url: markets.url, list: markets.list }] } }),
  })
  if (problems.length > 0) throw new Error(`invalid settings: ${JSON.stringify(problems)}`)
  return value
}
