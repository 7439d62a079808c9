// Extension: one pool or node operator (behaviour/validators.md#operators).
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import type { ValidatorsContext } from '../../context.ts'
import { findOperator } from './find-operator.ts'

export const operator = createHandler(
  extensions['validators.operator'],
  async ({ network, operator_id: id, idType: given }, { ingest }: ValidatorsContext) => {
    const idType = await findOperator(ingest, network, id, given && [given])
    if (!idType) return { is: 'nothing' }
    return { is: 'body', body: { id, idType, displayName: id, operatorTags: [] } }
  },
)
