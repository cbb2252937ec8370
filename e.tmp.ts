import { fromBinary, toBinary, create } from "@bufbuild/protobuf";
import { StructSchema, FileDescriptorSetSchema, FileDescriptorProtoSchema, DescriptorProtoSchema, ListValueSchema, TypeSchema, ApiSchema, ValueSchema, MethodSchema, Int64ValueSchema, FieldSchema, OptionSchema } from "@bufbuild/protobuf/wkt";
import * as wkt from "@bufbuild/protobuf/wkt";
import { ProtoEstimator, shapeOf } from "./runtime/src/codec/proto-estimate.ts";
const MIB=2**20;
function rep(unit: number[], total: number) { const n = Math.floor(total/unit.length); const b = new Uint8Array(n*unit.length); for (let i=0;i<n;i++) b.set(unit,i*unit.length); return b; }
const files = Object.values(wkt).filter((x:any)=>x?.kind==="file").map((f:any)=>f.proto);
const set = toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema,{file: Array.from({length:100},()=>files).flat()}));
// Type.fields = google.protobuf.Field, proto3, 10 fields; field 2
const types = toBinary(TypeSchema, create(TypeSchema,{fields: Array.from({length:100000},(_, i)=>({number:i,name:"field"+i}))}));
const typesEmpty = rep([0x12,0],4*MIB);
const struct = toBinary(StructSchema, create(StructSchema,{fields: Object.fromEntries(Array.from({length:100000},(_, i)=>["key"+i,{kind:{case:"numberValue" as const,value:i}}]))}));
const methods = toBinary(ApiSchema, create(ApiSchema,{methods: Array.from({length:10000},(_, i)=>({name:"m"+i, requestTypeUrl:"type.googleapis.com/x", options:[{name:"a",value:{typeUrl:"x",value:new Uint8Array(20)}}]}))}));
for (const [name,type,bytes] of [["FileDescriptorSet",FileDescriptorSetSchema,set],["100k Field",TypeSchema,types],["empty Field",TypeSchema,typesEmpty],["Struct 100k",StructSchema,struct],["unknown",StructSchema,rep([0x78,0],4*MIB)],["list empty values",ListValueSchema,rep([0x0a,0],4*MIB)],["10k methods", ApiSchema, methods]] as const) {
  const shape = shapeOf(type as any);
  let est=0; const scan=()=>{ const e=new ProtoEstimator(bytes, Infinity); est=e.fields(shape, bytes.length); };
  const dec=()=>fromBinary(type as any, bytes);
  scan();dec();scan();
  let s=Infinity,d=Infinity; 
  globalThis.gc!(); const h0=process.memoryUsage().heapUsed; const m=dec(); globalThis.gc!(); const h1=process.memoryUsage().heapUsed-h0; 
  for(let i=0;i<3;i++){ let t=performance.now(); scan(); s=Math.min(s,performance.now()-t); t=performance.now(); dec(); d=Math.min(d,performance.now()-t); }
  console.log(name.padEnd(20), (bytes.length/MIB).toFixed(2),"MiB est",(est/MIB).toFixed(1),"real",(h1/MIB).toFixed(1),"ratio x"+(est/bytes.length).toFixed(1),"scan",s.toFixed(1),"decode",d.toFixed(1),(100*s/d).toFixed(1)+"%", (m as any).$typeName.length);
}
