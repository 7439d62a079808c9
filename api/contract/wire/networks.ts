// The beacon chain networks of group C. A file of its own, because threads that need only this load no schemas.
export const networks = ['mainnet', 'hoodi', 'holesky'] as const
export type Network = (typeof networks)[number]
