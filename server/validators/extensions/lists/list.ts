// Extension: metadata of many validators (behaviour/validators.md#list-of-validators).
import { extensions } from '#api/contract/extensions.ts'
import type { Parsed } from '#api/contract/kit.ts'
import { invalid } from '#core/fault.ts'
import { createHandler } from '#http/handler.ts'
import type { ValidatorsContext } from '../../context.ts'
import { toMetadata } from '../../endpoints/metadata.ts'
import { listIndices, type Selection } from '../../registry/list-indices.ts'
import { readValidators } from '../../registry/registry.ts'
import { getNetworkCoverage } from '../../requests/coverage.ts'
import { toPath } from '../../requests/page-links.ts'
import { invalidInput, toConfidence } from '../../requests/requested-epochs.ts'

const endpoint = extensions['validators.list']
type ListQuery = Parsed<typeof endpoint>

export const list = createHandler(endpoint, async (input, context: ValidatorsContext, request) => {
  const query = toOneSpelling(input)
  const { network, from, size } = query
  const selections = selectionsOf(query)
  const { covered } = await getNetworkCoverage(context, network)
  // One query for each selection reads a range of an index. One query for all would sort all validators of all of them.
  const found = await Promise.all(
    selections.map((selection) => listIndices(context.ingest, network, selection, { from, count: size + 1 })),
  )
  const indices = [...new Set(found.flat())].sort((a, b) => a - b)
  const entries = await readValidators(context.ingest, network, indices.slice(0, size))
  const following = indices[size]
  return {
    is: 'body',
    body: {
      page: { from, size },
      data: entries.map(toMetadata),
      next:
        following === undefined ? null : toPath({ endpoint, input, query: request.query }, { size, from: following }),
    },
    confidence: toConfidence(covered),
  }
})

function toOneSpelling({ operators_ids, id_type, withdrawal_address, ...query }: ListQuery): ListQuery {
  return {
    ...query,
    ...(operators_ids && { operatorsIds: query.operatorsIds ?? operators_ids }),
    ...(id_type && { idType: query.idType ?? id_type }),
    ...(withdrawal_address && { withdrawalAddress: query.withdrawalAddress ?? withdrawal_address }),
  }
}

const addressText = /^0x[0-9a-f]{40}$/i

/** Undefined: all validators. */
function selectionsOf({ operatorsIds, idType, withdrawalAddress }: ListQuery): (Selection | undefined)[] {
  if (operatorsIds && withdrawalAddress !== undefined) {
    const message = 'use only one filter at a time'
    throw invalidInput(['operatorsIds', 'withdrawalAddress'].map((name) => ({ at: ['query', name], message })))
  }
  if (withdrawalAddress !== undefined) return [{ by: 'withdrawalAddress', value: withdrawalAddress }]
  if (!operatorsIds) return [undefined]
  const by = idType ?? 'nodeOperator'
  if (by.endsWith('Address') && !operatorsIds.every((id) => addressText.test(id)))
    throw invalid(['query', 'operatorsIds'], 'must be addresses: 0x and 40 hexadecimal digits each')
  return [...new Set(operatorsIds)].map((value) => ({ by, value }))
}
