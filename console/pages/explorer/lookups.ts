// Calls of the explorer pages that are not endpoints of the API. They need an API key instead of a session.
import type { UseQueryResult } from '@tanstack/preact-query'
import type { EntityView, LabelCounts, TransactionView } from '#shared/console-calls.ts'
import { callConsole } from '../../operator.ts'
import { useCalls } from '../../use-endpoint.ts'

export const fetchTransaction = (hash: string, key: string): Promise<TransactionView> =>
  callConsole('GET', `explorer/transactions/${encodeURIComponent(hash)}?${new URLSearchParams({ apikey: key })}`)

const fetchEntity = (slug: string, key: string): Promise<EntityView> =>
  callConsole('GET', `explorer/entities/${encodeURIComponent(slug)}?${new URLSearchParams({ apikey: key })}`)

export const useEntity = (slug: string): UseQueryResult<EntityView> =>
  useCalls(['entity', slug], ({ key }) => fetchEntity(slug, key))

export const useTransaction = (hash: string): UseQueryResult<TransactionView> =>
  useCalls(['transaction', hash], ({ key }) => fetchTransaction(hash, key))

const fetchLabelCounts = (chain: string, key: string): Promise<LabelCounts> =>
  callConsole('GET', `explorer/labels/${encodeURIComponent(chain)}?${new URLSearchParams({ apikey: key })}`)

export const useLabelCounts = (chain: string): UseQueryResult<LabelCounts> =>
  useCalls(['label counts', chain], ({ key }) => fetchLabelCounts(chain, key))
