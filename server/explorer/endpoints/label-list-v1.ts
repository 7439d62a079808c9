// Spec 4.2: the label list, version 1. Always the array, of chain 1.
import { contract } from '#api/contract/contract.ts'
import { createHandler } from '#http/handler.ts'
import { defaultChain, requireOpenList } from '../chains.ts'
import type { LinkContext } from '../labels/lists/link-secret.ts'
import { inlineList } from './label-list-v2.ts'

export const labelListV1 = createHandler(
  contract['explorer.labelListV1'],
  (_input, context: LinkContext, request) => inlineList(context, request, defaultChain),
  (_query, context) => requireOpenList(defaultChain, context),
)
