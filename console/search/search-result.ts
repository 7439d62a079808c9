// What the search finds, and the kinds in the order of the groups.

/** Kind → heading of its group. */
export const kindTitles = {
  Page: 'Pages',
  Address: 'Addresses',
  Transaction: 'Transactions',
  Entity: 'Entities',
  Validator: 'Validators',
  Validators: 'Validators of an address',
  Pool: 'Pools',
  Operator: 'Operators',
  Market: 'Markets',
  Quote: 'Quotes',
  Documentation: 'Documentation',
} as const

export type ResultKind = keyof typeof kindTitles

export interface SearchResult {
  readonly kind: ResultKind
  readonly label: string
  readonly href: string
  readonly detail?: string | undefined
}
