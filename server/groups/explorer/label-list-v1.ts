// Spec 4.2. The first version of the list: chain 1, always the array, however long.
import { contract } from '#api/contract.ts'
import { answer } from '#serve/answer.ts'
import { homeChain, openList } from './chains.ts'
import type { ExplorerContext } from './context.ts'
import { inline } from './label-list-v2.ts'
import { shape } from './shape.ts'

export const labelListV1 = answer(
  contract['explorer.labelListV1'],
  shape,
  (_input, context: ExplorerContext, visit) => inline(context, visit, homeChain),
  (_query, context) => openList(homeChain, context),
)
