// The error formats of group D.
export { marketByIdErrorFormat, marketsErrorFormat } from '#api/error-formats.ts'
