// The error format of group B.
export { fxErrorFormat } from '#api/error-formats.ts'
